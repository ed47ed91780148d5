"""The agent may die at any time: guests go on, and the next agent takes them over."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from lab import encoded, sh

from localcloud.guests.guest import Guest, read_json
from localcloud.paths import repository
from localcloud.processes import wait_until

ID = "0b8f4f2e-0000-4000-8000-000000000001"
USER_DATA = "#!/bin/bash\necho done > /etc/done; nohup sleep 1000 &>/dev/null & disown\n"


@dataclass
class Daemon:
    """Starts and ends agents over one folder."""

    folder: Path
    running: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    @property
    def guest(self) -> Guest:
        return Guest(ID, self.folder / "guests")

    @property
    def heartbeat(self) -> Path:
        return self.folder / "heartbeat"

    def start(self) -> None:
        self.heartbeat.unlink(missing_ok=True)
        script = Path(__file__).with_name("agent_process.py")
        words = [sys.executable, str(script), str(self.folder / "servers.json"), str(self.folder / "guests")]
        self.running.append(
            subprocess.Popen(
                [*words, str(self.heartbeat)],
                env={"PYTHONPATH": str(repository() / "tests"), "PATH": "/usr/bin:/bin"},
            )
        )
        assert wait_until(self.heartbeat.exists, 30)

    def end(self, *, kill: bool) -> None:
        process = self.running.pop()
        (process.kill if kill else process.terminate)()
        process.wait(30)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    server = {
        "id": ID,
        "name": "gpu-0",
        "status": "ACTIVE",
        "flavor": "edge-c4m16-gpu-2000-1",
        "user_data": encoded(USER_DATA),
    }
    (tmp_path / "servers.json").write_text(json.dumps([server]))
    made = Daemon(tmp_path)
    made.start()
    yield made
    for process in made.running:
        process.kill()
        process.wait()
    made.guest.kill()


def test_kill_9_and_restart_in_the_middle_of_a_boot(daemon: Daemon) -> None:
    assert wait_until(lambda: daemon.guest.process() is not None, 30)
    before, port = daemon.guest.process(), daemon.guest.record().port
    daemon.end(kill=True)
    assert daemon.guest.process() == before
    daemon.start()
    assert wait_until(
        lambda: read_json(daemon.guest.folder / "boot.json").get("state") in {"done", "error"}, 60
    )
    assert (daemon.guest.process(), daemon.guest.record().port, daemon.guest.record().boots) == (
        before,
        port,
        1,
    )
    assert (
        sh(daemon.guest, "curl -fs $SHADOW_METADATA_URL/latest/meta-data/hostname").stdout
        == "gpu-0.novalocal"
    )


def test_kill_9_and_restart_after_the_boot(daemon: Daemon) -> None:
    assert wait_until(lambda: read_json(daemon.guest.folder / "boot.json").get("state") == "done", 60)
    before = daemon.guest.process()
    daemon.end(kill=True)
    daemon.start()
    assert (daemon.guest.process(), daemon.guest.record().boots) == (before, 1)
    assert (daemon.guest.root / "etc/done").exists()


def test_a_guest_that_died_while_no_agent_ran_is_booted_again(daemon: Daemon) -> None:
    assert wait_until(lambda: read_json(daemon.guest.folder / "boot.json").get("state") == "done", 60)
    daemon.end(kill=True)
    daemon.guest.kill()
    daemon.start()
    assert wait_until(lambda: daemon.guest.process() is not None, 30)
    assert daemon.guest.record().boots == 2


def test_an_agent_that_is_told_to_end_switches_its_guests_off(daemon: Daemon) -> None:
    assert wait_until(lambda: daemon.guest.process() is not None, 30)
    daemon.end(kill=False)
    assert daemon.guest.process() is None
    assert daemon.guest.root.is_dir()
