"""When callers of `systemctl start`, `stop` and `restart` get their answer."""

import itertools
import signal
from pathlib import Path

import pytest

from localcloud.standins.service import Service
from localcloud.standins.units import Unit

UNIT = Unit(
    "demo.service",
    Path("demo.service"),
    {"ExecStart": ["/bin/demo"], "Type": ["notify"], "Restart": ["always"]},
)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    pids = itertools.count(100)
    monkeypatch.setattr(Service, "_spawn", lambda *_: next(pids))
    monkeypatch.setattr(Service, "_signal", lambda *_: None)
    return Service(UNIT, {})


def test_a_start_is_answered_once_the_service_says_that_it_is_ready(service: Service) -> None:
    answers: list[str] = []
    service.start(answers.append)
    assert (service.active, answers) == ("activating", [])
    service.ready()
    assert (service.active, answers) == ("active", [""])


def test_a_restart_is_answered_by_the_new_process_and_not_by_the_end_of_the_old_one(service: Service) -> None:
    answers: list[str] = []
    service.start()
    service.ready()
    service.stop()
    service.waiting.append(lambda _error: service.start(answers.append))
    delay = service.ended(signal.SIGTERM)
    assert (service.active, service.pid, answers, delay) == ("activating", 101, [], None)
    service.ready()
    assert answers == [""]
