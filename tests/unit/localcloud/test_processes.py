"""Services are found again by their pid file, and only when the process is really theirs."""

import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcloud import processes
from localcloud.processes import Service, ServiceError, alive, require_free_ports, wait_until

SLEEPER = (sys.executable, "-c", "import time; print('up', flush=True); time.sleep(300)")
PARENT = (
    sys.executable,
    "-c",
    "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(300)'])",
)


@pytest.fixture
def sleeper() -> Iterator[Service]:
    service = Service("sleeper", SLEEPER, ready=lambda: "up" in service.log_file.read_text())
    yield service
    service.stop()


def test_a_started_service_is_found_again_by_another_object(sleeper: Service) -> None:
    assert sleeper.start()
    assert Service("sleeper", SLEEPER).pid() == sleeper.pid() is not None
    assert not sleeper.start(), "a second start does nothing"


def test_wait_ready_returns_once_the_condition_holds(sleeper: Service) -> None:
    sleeper.start()
    sleeper.wait_ready(30)
    assert sleeper.healthy()


def test_stop_ends_the_process_and_removes_the_pid_file(sleeper: Service) -> None:
    sleeper.start()
    pid = sleeper.pid()
    assert pid is not None
    sleeper.stop()
    assert not sleeper.running()
    assert not sleeper.pid_file.exists()
    assert not alive(pid)


def test_a_killed_service_counts_as_stopped_and_starts_again(sleeper: Service) -> None:
    sleeper.start()
    first = sleeper.pid()
    assert first is not None
    os.kill(first, signal.SIGKILL)
    assert wait_until(lambda: not sleeper.running(), 10)
    assert sleeper.start()
    assert sleeper.pid() != first


def test_children_of_a_killed_leader_are_ended_before_the_next_start(home: Path) -> None:
    parent = Service("parent", PARENT)
    parent.start()
    assert wait_until(lambda: len(parent.members()) == 2, 30)
    leader = parent.pid()
    assert leader is not None
    os.kill(leader, signal.SIGKILL)
    assert wait_until(lambda: not parent.running(), 10)
    orphans = parent.members()
    assert len(orphans) == 1
    parent.start()
    assert not alive(orphans[0])
    parent.stop()


@pytest.mark.parametrize(
    "text", ["", "12", "not a pid", "{pid} 1 {boot}", "{pid} {start} 00000000-another-boot"]
)
def test_a_stale_or_broken_pid_file_names_nobody(sleeper: Service, text: str) -> None:
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    sleeper.pid_file.parent.mkdir(parents=True)
    sleeper.pid_file.write_text(text.format(pid=os.getpid(), start=fields[19], boot=boot))
    assert sleeper.pid() is None
    assert sleeper.members() == []


def test_stop_never_touches_a_process_that_took_over_the_pid(sleeper: Service) -> None:
    sleeper.pid_file.parent.mkdir(parents=True)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    sleeper.pid_file.write_text(f"{os.getpid()} 1 {boot}")
    sleeper.stop()
    assert not sleeper.pid_file.exists()


def test_taken_ports_are_named_together_with_owner_and_remedy() -> None:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        ports = [listener.getsockname()[1] for listener in (one, two)]
        services = [Service(f"web{port}", SLEEPER, ports=(port,)) for port in ports]
        with pytest.raises(ServiceError) as caught:
            require_free_ports(services)
        with pytest.raises(ServiceError):
            services[0].start()
    for port in ports:
        assert f"web{port} needs 127.0.0.1:{port}, held by pid {os.getpid()}" in str(caught.value)
    assert "scripts/localcloud up" in str(caught.value)


def test_an_early_exit_is_reported_with_the_end_of_the_log() -> None:
    broken = Service(
        "broken", (sys.executable, "-c", "raise SystemExit('no such flag --x')"), ready=lambda: True
    )
    broken.start()
    with pytest.raises(ServiceError, match="no such flag --x"):
        Service("broken", broken.command, ready=lambda: False).wait_ready(30)


def test_pause_and_resume_reach_the_process(sleeper: Service) -> None:
    def state() -> str:
        return Path(f"/proc/{sleeper.pid()}/stat").read_text().rpartition(")")[2].split()[0]

    sleeper.start()
    sleeper.signal(signal.SIGSTOP)
    assert wait_until(lambda: state() == "T", 10)
    assert sleeper.running(), "a paused service still runs"
    sleeper.signal(signal.SIGCONT)
    assert wait_until(lambda: state() != "T", 10)


def test_a_signal_to_a_stopped_service_is_refused(sleeper: Service) -> None:
    with pytest.raises(ServiceError, match="sleeper is not running"):
        sleeper.signal(signal.SIGSTOP)


def test_a_port_that_its_killed_owner_is_still_closing_counts_as_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = [True, True, False]
    monkeypatch.setattr(processes, "port_open", lambda _port: looks.pop(0) if looks else False)
    require_free_ports([Service("web1", ("true",), {}, lambda: True, (1,))])
    assert not looks
