"""A machine of one job, played by real cloud-init: GPU gate, hand-over, one run, last word, watcher."""

import dataclasses
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from controller_double import Double, runner_archive
from lab import Lab, console, sh

from localcloud.guests.guest import Guest
from shadow_gpu_runners import job_boot
from shadow_gpu_runners.boot_files import BootSettings
from shadow_gpu_runners.job_boot import JobSettings

IMAGE = "nvidia/cuda:12.1.0-base-ubuntu22.04"
TICKET = "ticket-planted-5d11"
JIT = "jit-planted-0c94"
RUNNER = """#!/bin/sh
id -un >/tmp/who
printf '%s' "$ACTIONS_RUNNER_INPUT_JITCONFIG" >/tmp/jit
env | grep -c SHADOW_TICKET >/tmp/leaks
cat /etc/shadow-runner/job.env >/tmp/stolen 2>/dev/null
exit 0
"""
GOOD = [
    *("start", "watcher", "packages", "runner", "docker", "gpu_host", "gpu_container", "metadata"),
    *("secrets", "healthy", "handover", "ended"),
]

pytestmark = pytest.mark.slow


@pytest.fixture
def controller() -> Iterator[Double]:
    made = Double(
        config=[(202, {}), (200, {"kind": "github", "jit_config": JIT, "runner_name": "vm-1"})]
    ).start()
    yield made
    made.stop()


def settings(controller: Double, script: str = RUNNER, **changes: object) -> JobSettings:
    controller.archive, digest = runner_archive(script)
    boot = BootSettings(
        gpu_image=IMAGE,
        gpu_timeout_s=2,
        gpu_interval_s=1,
        packages=job_boot.packages("github"),
    )
    made = JobSettings(
        kind="github",
        runner_archive_url=f"{controller.url}/runner.tar.gz",
        runner_archive_sha256=digest,
        watch_interval_s=0.2,
        boot=boot,
    )
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


def start(lab: Lab, controller: Double, wanted: JobSettings, vm: str) -> Guest:
    text = job_boot.user_data(wanted)
    for mark, value in zip(job_boot.PLACEHOLDERS, (vm, TICKET, controller.url), strict=True):
        text = text.replace(mark, value)
    return lab.add(text, name=vm)


def ended(lab: Lab, controller: Double, guest: Guest, vm: str) -> None:
    lab.booted(guest)
    assert controller.phases(vm), console(guest)[-3000:]


def test_a_github_machine_runs_one_job_as_an_ordinary_user_and_tells_each_phase(
    lab: Lab, controller: Double
) -> None:
    guest = start(lab, controller, settings(controller), "vm-good")
    ended(lab, controller, guest, "vm-good")
    assert [phase for phase, status in controller.phases("vm-good") if status == "ok"] == GOOD, console(
        guest
    )[-3000:]
    assert controller.tickets == {f"Bearer {TICKET}"}
    assert {body["server_id"] for _, body in controller.heard} == {guest.id}
    seen = {name: sh(guest, f"cat /tmp/{name}").stdout.strip() for name in ("who", "jit", "leaks", "stolen")}
    assert seen == {"who": "runner", "jit": JIT, "leaks": "0", "stolen": ""}
    assert TICKET not in console(guest)
    assert JIT not in console(guest)
    files = (
        f"grep -rlsF {TICKET} / --exclude-dir=proc --exclude-dir=sys --exclude-dir=usr --exclude-dir=.host"
    )
    assert sh(guest, files).stdout.split() == ["/etc/shadow-runner/job.env"]
    assert sh(guest, "stat -c %a:%U /etc/shadow-runner/job.env").stdout.strip() == "600:root"
    again = sh(guest, "bash /opt/shadow-runner/job.sh; echo status $?").stdout
    assert "status 1" in again
    assert len(controller.bodies("/vm/v1/vm-good/config")) == 2


def test_the_watcher_tells_a_reclaim_while_the_job_runs(lab: Lab, controller: Double) -> None:
    script = "#!/bin/sh\nwhile [ ! -e /tmp/stop ]; do sleep 0.1; done\n"
    vm, pointer = "vm-reclaim", "/spot/notice/at"
    guest = start(lab, controller, settings(controller, script, reclaim_pointers=(pointer,)), vm)
    lab.until(lambda: ("handover", "ok") in controller.phases(vm), f"the job runs: {console(guest)[-2000:]}")
    assert controller.bodies(f"/vm/v1/{vm}/reclaim") == []
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(minutes=15)
    guest.announce(at, pointer)
    lab.until(lambda: controller.bodies(f"/vm/v1/{vm}/reclaim"), "the reclaim is told")
    told = controller.bodies(f"/vm/v1/{vm}/reclaim")[0]
    assert told["at"] == at.timestamp()
    assert told["server_id"] == guest.id
    sh(guest, "touch /tmp/stop")
    lab.booted(guest)


def test_a_gitlab_machine_gets_its_token_by_hand_over_only(lab: Lab, controller: Double) -> None:
    token = "glrt-planted-77ab"
    answer = {"kind": "gitlab", "url": "http://127.0.0.1:9", "token": token, "runner_name": "vm-gl-1"}
    controller.config = [(200, {**answer, "wait_timeout_s": 1})]
    config = 'concurrent = 1\n[[runners]]\n  name = "@HOSTNAME@"\n  url = "http://127.0.0.1:9/"\n'
    config += '  token = "@TOKEN@"\n  executor = "docker"\n  [runners.docker]\n    image = "x"\n'
    wanted = settings(controller, kind="gitlab", config_toml=config)
    packages = dataclasses.replace(wanted.boot, packages=job_boot.packages("gitlab"))
    wanted = dataclasses.replace(wanted, boot=packages)
    wanted = dataclasses.replace(wanted, runner_archive_url="", runner_archive_sha256="")
    guest = start(lab, controller, wanted, "vm-gitlab")
    ended(lab, controller, guest, "vm-gitlab")
    text = (guest.root / "etc/gitlab-runner/config.toml").read_text()
    assert 'name = "vm-gl-1"' in text
    assert token in text
    assert controller.phases("vm-gitlab")[-1][0] == "ended", console(guest)[-3000:]
    assert token not in job_boot.user_data(wanted)
