"""Exit codes and messages of scripts/localcloud."""

import subprocess
import sys
from pathlib import Path

import pytest

from localcloud import cli, commands, fault_cli
from localcloud.openstack import control, faults, layout
from localcloud.paths import repository
from localcloud.processes import ServiceError
from localcloud.progress import Progress


def test_a_failure_is_one_line_on_standard_error_and_exit_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_progress: Progress) -> None:
        raise ServiceError("keystone needs a port that another program holds")

    monkeypatch.setattr(control, "up", refuse)
    monkeypatch.setattr(commands, "PARTS", ("openstack",))
    assert cli.main(["up", "--only", "openstack"]) == 1
    assert capsys.readouterr().err == "error: keystone needs a port that another program holds\n"


@pytest.mark.parametrize(
    "arguments",
    [[], ["upp"], ["up", "--only", "nova"], ["fault", "pause", "nobody"], ["fault", "token-seconds", "-5"]],
)
def test_wrong_usage_is_exit_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2


def test_logs_of_an_unknown_service_names_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["logs", "nova"]) == 1
    assert "nova-api" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["*", "**", "../log/db", "/etc/passwd", ""])
def test_logs_take_names_only(name: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "log").mkdir(exist_ok=True)
    (home / "log" / "db.log").write_text("line\n")
    assert cli.main(["logs", name]) == 1
    assert "services: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["clear"], ["preempt", "some-server"], ["token-seconds", "5"]], ids=lambda given: given[0]
)
def test_faults_that_act_on_the_cloud_need_one(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["fault", *arguments]) == 1
    assert "scripts/localcloud up" in capsys.readouterr().err


def test_a_state_that_cannot_be_read_is_one_line(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "world.json").write_text("{")
    assert cli.main(["fault", "clear"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "world.json is damaged" in line


def test_a_state_home_that_is_a_file_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("SHADOW_LOCALCLOUD_HOME", str(file))
    assert cli.main(["status"]) == 1
    assert str(file) in capsys.readouterr().err


def test_faults_are_switched_on_listed_and_off(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["fault", "on", "spawn_fail", "no such card", "--project", "p1"]) == 0
    assert cli.main(["fault", "list"]) == 0
    assert capsys.readouterr().out == "spawn_fail.p1 = no such card\n"
    assert cli.main(["fault", "off", "spawn_fail", "--project", "p1"]) == 0
    assert list(layout.faults().iterdir()) == []


def test_a_fault_of_one_volume_type_has_its_own_file() -> None:
    with faults.switched_on("volume_create_delay", 3, volume_type="Silver"):
        assert faults.active() == {"volume_create_Silver_delay": "3"}
    assert faults.active() == {}


def test_a_reclaim_of_a_server_without_guest_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["fault", "preempt", "no-such-server", "--notice", "1"]) == 1
    assert "no-such-server" in capsys.readouterr().err


def test_every_action_on_services_is_offered() -> None:
    assert {"pause", "resume", "kill", "stop", "start"} == set(fault_cli.SERVICE_ACTIONS)


def test_a_second_command_waits_and_names_the_first(home: Path) -> None:
    waiter = (
        "from localcloud import commands\nfrom localcloud.progress import Progress\n"
        "with commands.exclusive(Progress()): print('had it', flush=True)"
    )
    env = {"SHADOW_LOCALCLOUD_HOME": str(home), "PYTHONPATH": str(repository() / "tests")}
    with commands.exclusive(Progress()):
        second = subprocess.Popen([sys.executable, "-c", waiter], env=env, stdout=subprocess.PIPE, text=True)
        assert second.stdout is not None
        first_line = second.stdout.readline()
        assert "waiting for another localcloud command" in first_line
    rest, _ = second.communicate(timeout=60)
    assert rest == "had it\n"
