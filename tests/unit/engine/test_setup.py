"""The set-up as a user meets it: from nothing to ready, interrupted, twice at once, out of luck."""

import os
import signal
import stat
import subprocess
from pathlib import Path

import pytest
from engine_machine import ROOT, Machine

PLUGINS = {
    "resource-openstack-v5.5.3": "pulumi-resource-openstack",
    "resource-github-v6.15.0": "pulumi-resource-github",
    "resource-gitlab-v10.4.0": "pulumi-resource-gitlab",
}


def test_first_run_builds_every_module_once_and_prints_the_bin_folder(machine: Machine) -> None:
    done = machine.run()
    assert done.returncode == 0, done.stderr
    folder = Path(done.stdout.strip())
    assert sorted(entry.name for entry in folder.iterdir()) == [
        "pulumi",
        "pulumi-language-python",
        "pulumi-language-python-exec",
    ]
    assert all(entry.stat().st_mode & stat.S_IXUSR for entry in folder.iterdir())
    assert sorted(call.split()[0] for call in machine.go_builds()) == ["cli", "providers"]


def test_plugins_lie_where_pulumi_looks_for_installed_ones(machine: Machine) -> None:
    done = machine.run("--env")
    home = Path(machine.shell(f"{done.stdout}\necho $PULUMI_HOME").strip())
    found = {folder.name: folder / PLUGINS[folder.name] for folder in (home / "plugins").iterdir()}
    assert set(found) == set(PLUGINS)
    assert all(os.access(executable, os.X_OK) for executable in found.values())


def test_env_puts_the_engine_first_and_forbids_downloads(machine: Machine) -> None:
    done = machine.run("--env")
    script = f"{done.stdout}\ncommand -v pulumi; echo $PATH; env | grep ^PULUMI_ | sort"
    command, path, *settings = machine.shell(script).splitlines()
    assert command == f"{path.split(':')[0]}/pulumi"
    assert path.endswith("/usr/bin:/bin")
    assert [line.split("=")[0] for line in settings] == [
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION",
        "PULUMI_HOME",
        "PULUMI_SKIP_UPDATE_CHECK",
    ]


def test_env_survives_a_cache_with_spaces_in_its_path(machine: Machine) -> None:
    machine.variables["SHADOW_CACHE_HOME"] = f"{machine.home}/a b/$(false)'c"
    done = machine.run("--env")
    assert machine.shell(f"{done.stdout}\ncommand -v pulumi").startswith(f"{machine.home}/a b/$(false)'c/")


def test_a_warm_run_asks_go_for_nothing(machine: Machine) -> None:
    first = machine.run()
    calls = Path(machine.variables["FAKE_GO_LOG"]).read_text(encoding="utf-8")
    second = machine.run()
    assert (second.stdout, second.stderr) == (first.stdout, "")
    assert Path(machine.variables["FAKE_GO_LOG"]).read_text(encoding="utf-8") == calls


def test_a_failed_module_does_not_cost_the_finished_one(machine: Machine) -> None:
    failed = machine.run(FAKE_GO_FAILS="providers", FAKE_GO_MESSAGE="dial tcp: connection refused")
    assert failed.returncode == 1
    assert "set GOPROXY" in failed.stderr
    before = len(machine.go_builds())
    done = machine.run()
    assert done.returncode == 0, done.stderr
    assert {call.split()[0] for call in machine.go_builds()[before:]} == {"providers"}


@pytest.mark.parametrize(
    ("message", "remedy"),
    [
        ("write /x: no space left on device", "the disk is full"),
        ("dial tcp 1.2.3.4:443: i/o timeout", "module proxy cannot be reached"),
        ("verifying module: checksum mismatch", "go clean -modcache"),
        ("compile: signal: killed", "lack of memory"),
        ("undefined: x", "it goes on where it stopped"),
    ],
)
def test_a_failed_build_names_its_remedy_and_its_log(machine: Machine, message: str, remedy: str) -> None:
    failed = machine.run(FAKE_GO_FAILS="cli", FAKE_GO_MESSAGE=message)
    assert failed.returncode == 1
    assert message in failed.stderr
    assert remedy in failed.stderr
    assert str(machine.cache / "engine-logs" / "cli.log") in failed.stderr
    assert "Traceback" not in failed.stderr


def test_a_killed_run_takes_its_compiler_along_and_the_next_run_goes_on(machine: Machine) -> None:
    with machine.start(extra={"FAKE_GO_BLOCKS": "cli"}) as process:
        with Path(machine.variables["FAKE_GO_REACHED"]).open(encoding="utf-8") as reached:
            assert reached.readline() == "reached\n"
            process.send_signal(signal.SIGKILL)
            assert reached.read() == ""  # the end of file comes when the compiler has died too
        process.communicate()
    parts = machine.cache / "engine-parts"
    assert list(parts.glob(".partial-*"))
    done = machine.run()
    assert done.returncode == 0, done.stderr
    assert not list(parts.glob(".partial-*"))


def test_two_runs_at_once_build_once(machine: Machine) -> None:
    with machine.start(extra={"FAKE_GO_BLOCKS": "cli"}) as first:
        with Path(machine.variables["FAKE_GO_REACHED"]).open(encoding="utf-8") as reached:
            assert reached.readline() == "reached\n"
        with machine.start() as second:
            assert second.stderr is not None
            assert f"another run (process {first.pid}) is at it" in second.stderr.readline()
            Path(machine.variables["FAKE_GO_RELEASE"]).write_text("go on\n", encoding="utf-8")
            outputs = [process.communicate(timeout=60)[0] for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0)
    assert outputs[0] == outputs[1]
    assert [call.split()[0] for call in machine.go_builds()].count("cli") == 1


def test_without_go_and_index_the_message_says_how_to_get_go(machine: Machine) -> None:
    (machine.home / "bin" / "go").unlink()
    failed = machine.run()
    assert failed.returncode == 1
    assert "Go is not on PATH" in failed.stderr
    assert "install Go" in failed.stderr
    assert "package index" in failed.stderr


def test_a_go_that_is_too_old_is_named_with_its_version(machine: Machine) -> None:
    failed = machine.run(FAKE_GO_VERSION="go1.20.3")
    assert failed.returncode == 1
    assert f"{machine.home}/bin/go is 1.20.3, older than 1.26.6" in failed.stderr


def test_official_only_says_that_the_site_is_out_of_reach(machine: Machine) -> None:
    failed = machine.run(SHADOW_ENGINE_SOURCE="official")
    assert failed.returncode == 1
    assert "http://127.0.0.1:9 cannot be reached" in failed.stderr
    assert machine.go_builds() == []


def test_more_parts_come_on_demand_into_the_same_folder(machine: Machine) -> None:
    base = machine.run().stdout
    more = machine.run("--with", "actionlint")
    assert more.stdout == base
    assert (Path(base.strip()) / "actionlint").is_file()


def test_list_tells_where_each_part_came_from(machine: Machine) -> None:
    lines = [line.split(maxsplit=2) for line in machine.run("--list").stdout.splitlines()]
    assert {name: origin for name, _, origin in lines} == {
        "cli": "built from Go modules",
        "python": "built from Go modules",
        "openstack": "built from Go modules",
        "github": "built from Go modules",
        "gitlab": "stand-in",
    }


@pytest.mark.parametrize(
    ("arguments", "extra", "complaint"),
    [
        (["--with", "nope"], {}, "unknown part nope; there are"),
        ([], {"SHADOW_ENGINE_SOURCE": "moon"}, "SHADOW_ENGINE_SOURCE is 'moon'; expected one of"),
    ],
)
def test_wrong_usage_exits_2(
    machine: Machine, arguments: list[str], extra: dict[str, str], complaint: str
) -> None:
    failed = machine.run(*arguments, **extra)
    assert failed.returncode == 2
    assert complaint in failed.stderr


def test_a_pulumi_on_the_machine_is_used_when_it_is_new_enough(machine: Machine) -> None:
    for name, text in {
        "pulumi": "#!/bin/sh\necho v3.999.0\n",
        "pulumi-language-python": "host",
        "pulumi-language-python-exec": "executor",
    }.items():
        (machine.home / "bin" / name).write_text(text, encoding="utf-8")
        (machine.home / "bin" / name).chmod(0o755)
    done = machine.run("--list")
    assert done.returncode == 0, done.stderr
    assert f"found in {machine.home}/bin" in done.stdout.splitlines()[0]
    assert {call.split()[0] for call in machine.go_builds()} == {"providers"}


def test_a_pulumi_on_the_machine_that_is_too_old_is_left_alone(machine: Machine) -> None:
    old = machine.home / "bin" / "pulumi"
    old.write_text("#!/bin/sh\necho v3.1.0\n", encoding="utf-8")
    old.chmod(0o755)
    assert "built from Go modules" in machine.run("--list").stdout.splitlines()[0]


@pytest.mark.parametrize("place", ["/proc/none", "file", "~nobody-of-that-name/cache"])
def test_a_cache_that_cannot_be_used_is_named_with_the_remedy(machine: Machine, place: str) -> None:
    (machine.home / "file").touch()
    machine.variables["SHADOW_CACHE_HOME"] = str(machine.home / place) if place == "file" else place
    done = machine.run()
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "what to do: set SHADOW_CACHE_HOME" in done.stderr


@pytest.mark.parametrize(
    ("script", "argument", "said"),
    [
        ("engine", "--with=nosuch", "unknown part nosuch"),
        ("quickstart", "nosuch", "takes no arguments but --all"),
    ],
)
def test_scripts_work_through_a_link_from_any_folder(
    tmp_path: Path, script: str, argument: str, said: str
) -> None:
    link = tmp_path / "a link"
    link.symlink_to(ROOT / "scripts" / script)
    done = subprocess.run([link, argument], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode in {1, 2}
    assert said in done.stderr


def test_scripts_find_the_cache_without_home() -> None:
    script = f'unset HOME XDG_CACHE_HOME SHADOW_CACHE_HOME; . "{ROOT}/scripts/_setup.sh"; echo "$cache"'
    done = subprocess.run(["/bin/bash", "-c", script], capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).is_absolute()
