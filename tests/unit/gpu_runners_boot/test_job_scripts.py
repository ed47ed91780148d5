"""The scripts of a machine of one job on a scratch machine: what is told, and what never starts a runner."""

import dataclasses
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from controller_double import Double, runner_archive
from machine import Machine

from shadow_gpu_runners import boot, job_boot
from shadow_gpu_runners._validation import InvalidInputsError, Problems
from shadow_gpu_runners.boot_files import BootSettings
from shadow_gpu_runners.cloud_init import UserDataTooLargeError
from shadow_gpu_runners.job_boot import JobSettings

TICKET = "ticket-planted-5d11"
VM = "gpu-a4500-0001"
GOOD = JobSettings(
    kind="github", watch_interval_s=0.1, boot=BootSettings(gpu_image="cuda:12", repositories=())
)
CONFIG = '[[runners]]\nname = "@HOSTNAME@"\ntoken = "@TOKEN@"\n'
RUNS = '#!/bin/sh\nprintf "%s" "$ACTIONS_RUNNER_INPUT_JITCONFIG" >"$FIXTURE/jit"\n'


@pytest.fixture
def controller() -> Iterator[Double]:
    answer = {"kind": "github", "jit_config": "jit-1", "runner_name": f"{VM}-1"}
    made = Double(config=[(200, answer)]).start()
    yield made
    made.stop()


def filled(settings: JobSettings, controller: Double) -> str:
    """Return the user-data as the autoscaler fills it in."""
    text = job_boot.user_data(settings)
    for mark, value in zip(job_boot.PLACEHOLDERS, (VM, TICKET, controller.url), strict=True):
        text = text.replace(mark, value)
    return text


def played(machine: Machine, controller: Double, settings: JobSettings) -> subprocess.CompletedProcess[str]:
    machine.root("etc/shadow-runner/config.toml").unlink()  # a long-lived runner has it
    for file in yaml.safe_load(filled(settings, controller))["write_files"]:
        if file["path"].startswith("/etc/"):
            machine.put(file["path"].lstrip("/"), file["content"])
    machine.put("var/log/.keep", "")
    runner = machine.put("opt/actions-runner/run.sh", RUNS)
    runner.chmod(0o755)
    return machine.run("job.sh", SHADOW_METADATA_URL=controller.url)


def last(controller: Double) -> tuple[str, str, str]:
    told = controller.bodies(f"/vm/v1/{VM}/status")[-1]
    return told["phase"], told["status"], told["reason"]


def test_the_job_runs_once_with_its_configuration(machine: Machine, controller: Double) -> None:
    ran = played(machine, controller, GOOD)
    assert ran.returncode == 0, (ran.stdout, ran.stderr, machine.console)
    assert (machine.folder / "fixture/jit").read_text() == "jit-1"
    assert last(controller) == ("ended", "ok", "the runner has ended")
    again = machine.run("job.sh", SHADOW_METADATA_URL=controller.url)
    assert again.returncode == 1
    assert last(controller) == ("start", "failed", "this machine has had its job")
    assert len(controller.bodies(f"/vm/v1/{VM}/config")) == 1


@pytest.mark.parametrize("code", [404, 409, 410, 401])
def test_a_refused_machine_starts_no_runner(machine: Machine, controller: Double, code: int) -> None:
    controller.config = [(code, {"error": "the job is gone"})]
    played(machine, controller, GOOD)
    phase, status, reason = last(controller)
    assert (phase, status) == ("handover", "failed")
    assert "the job is gone" in reason
    assert not (machine.folder / "fixture/jit").exists()


def test_a_controller_in_trouble_is_asked_again(machine: Machine, controller: Double) -> None:
    controller.config[:0] = [(202, {}), (503, {})]
    played(machine, controller, GOOD)
    assert last(controller)[:2] == ("ended", "ok")
    assert len(controller.bodies(f"/vm/v1/{VM}/config")) == 3


def test_a_configuration_that_never_comes_ends_the_boot(machine: Machine, controller: Double) -> None:
    controller.config = [(202, {})]
    played(machine, controller, dataclasses.replace(GOOD, config_timeout_s=0.5))
    assert last(controller)[:2] == ("handover", "failed")


def test_a_broken_gpu_is_told_and_no_configuration_is_asked_for(machine: Machine, controller: Double) -> None:
    machine.write("gpu", "err")
    boot_settings = dataclasses.replace(GOOD.boot, gpu_timeout_s=0)
    played(machine, controller, dataclasses.replace(GOOD, boot=boot_settings))
    phase, status, reason = last(controller)
    assert (phase, status) == ("gpu_host", "failed")
    assert "ERR!" in reason
    assert controller.bodies(f"/vm/v1/{VM}/config") == []


def test_an_archive_with_another_checksum_is_never_unpacked(machine: Machine, controller: Double) -> None:
    controller.archive, _ = runner_archive(RUNS)
    settings = dataclasses.replace(
        GOOD,
        runner_archive_url=f"{controller.url}/runner.tar.gz",
        runner_archive_sha256="0" * 64,
        runner_folder="/opt/other",
    )
    played(machine, controller, settings)
    assert last(controller)[:2] == ("runner", "failed")
    assert not machine.root("opt/other").exists()


def test_an_outdated_runner_is_named_as_such(machine: Machine, controller: Double) -> None:
    said = "Runner version v2.300.0 is deprecated and cannot receive messages."
    machine.put("opt/old/run.sh", f"#!/bin/sh\necho '{said}'\nexit 1\n").chmod(0o755)
    played(machine, controller, dataclasses.replace(GOOD, runner_folder="/opt/old"))
    phase, status, reason = last(controller)
    assert (phase, status) == ("ended", "failed")
    assert reason.startswith("runner_deprecated")


def test_gitlab_gets_its_token_into_a_private_file(machine: Machine, controller: Double) -> None:
    answer = {"kind": "gitlab", "token": "glrt-1", "runner_name": f"{VM}-1", "wait_timeout_s": 60}
    answer["system_id"] = "s_0123456789ab"
    controller.config = [(200, answer)]
    ran = played(machine, controller, dataclasses.replace(GOOD, kind="gitlab", config_toml=CONFIG))
    assert ran.returncode == 0, (ran.stdout, ran.stderr, machine.console)
    file = machine.root("etc/gitlab-runner/config.toml")
    assert file.read_text() == f'[[runners]]\nname = "{VM}-1"\ntoken = "glrt-1"\n'
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.with_name(".runner_system_id").read_text() == "s_0123456789ab"
    call = next(line for line in machine.calls if line.startswith("gitlab-runner"))
    assert f"--runner {VM}-1 --max-builds 1 --wait-timeout 60" in call
    assert not any("glrt-1" in line or TICKET in line for line in [*machine.calls, *machine.console])


AT = 1_796_040_000.0  # 2026-11-30T12:00:00Z


@pytest.mark.parametrize(
    ("pointer", "document", "at"),
    [
        ("/meta/spot_termination_time", {"meta": {"spot_termination_time": "2026-11-30T12:00:00Z"}}, AT),
        ("/spot/1/at~1time", {"spot": [{}, {"at/time": "2026-11-30T13:00:00+01:00"}]}, AT),
        ("/at", {"at": "2026-11-30 12:00:00"}, AT),
        ("/at", {"at": 1_796_040_000}, AT),
        ("/at", {"at": "soon"}, None),
    ],
)
def test_the_watcher_tells_the_notice(
    controller: Double, tmp_path: Path, pointer: str, document: dict[str, Any], at: float | None
) -> None:
    controller.meta_data = {"uuid": "server-1", **document}
    script = Path(boot.__file__).parent / "controller.py"
    environment = {
        "SHADOW_METADATA_URL": controller.url,
        "SHADOW_CALLBACK": controller.url,
        "SHADOW_VM": VM,
        "SHADOW_TICKET": TICKET,
        "SHADOW_RECLAIM_POINTERS": f"/a/b {pointer}",
        "SHADOW_ROOT": str(tmp_path),
    }
    subprocess.run([sys.executable, "-I", str(script), "watch"], env=environment, check=True, timeout=30)
    assert [body["at"] for body in controller.bodies(f"/vm/v1/{VM}/reclaim")] == [at]


def test_the_template_has_each_placeholder_and_no_token() -> None:
    text = job_boot.user_data(dataclasses.replace(GOOD, kind="gitlab", config_toml=CONFIG))
    document = yaml.safe_load(text)
    env = next(file for file in document["write_files"] if file["path"].endswith("/job.env"))
    assert env["permissions"] == "0600"
    assert all(text.count(mark) == 1 for mark in job_boot.PLACEHOLDERS)
    assert re.search(r"^SHADOW_TICKET=\S+$", env["content"], re.MULTILINE)
    assert document["runcmd"] == [["bash", "/opt/shadow-runner/job.sh"]]


def test_a_template_that_cannot_fit_is_refused() -> None:
    incompressible = "".join(f"# {number * 2654435761 % 2**32:08x}\n" for number in range(12_000))
    with pytest.raises(UserDataTooLargeError, match="at most 65,535"):
        job_boot.user_data(dataclasses.replace(GOOD, kind="gitlab", config_toml=CONFIG + incompressible))


def test_all_faults_are_told_together() -> None:
    problems = Problems("pool 'a'")
    wrong = dataclasses.replace(
        GOOD,
        kind="gitlab",
        runner_archive_url="http://x/",
        reclaim_pointers=("meta",),
        reclaim_paths=("a b",),
    )
    job_boot.check(wrong, problems)
    with pytest.raises(InvalidInputsError) as caught:
        problems.raise_if_any()
    for part in ("runner_archive_url", "reclaim_pointers", "reclaim_paths", "config_toml", "@TOKEN@"):
        assert part in str(caught.value)
