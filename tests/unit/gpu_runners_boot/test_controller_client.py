"""The machine's side of the controller's protocol, when the controller is busy, broken or in a hurry."""

import http.client
import importlib.util
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shadow_gpu_runners import boot

Answer = tuple[int, dict[str, str], bytes] | Exception
BUSY: Answer = (429, {"Retry-After": "7"}, b"{}")
TAKEN: Answer = (204, {}, b"")


@dataclass
class Played:
    """The program with its answers played in, and a clock that only its own pauses move."""

    client: Any
    answers: list[Answer] = field(default_factory=list[Answer])
    pauses: list[float] = field(default_factory=list[float])
    now: float = 0.0

    def answer(self, *_: object) -> tuple[int, dict[str, str], bytes]:
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, Exception):
            raise found
        return found

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Played:
    spec = importlib.util.spec_from_file_location("boot_client", Path(boot.__file__).parent / "controller.py")
    assert spec
    assert spec.loader
    client = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(client)
    made = Played(client)
    for name, value in {"VM": "vm-1", "TICKET": "t", "CALLBACK": "http://c", "ROOT": str(tmp_path)}.items():
        monkeypatch.setenv(f"SHADOW_{name}", value)
    (tmp_path / "run/shadow-runner").mkdir(parents=True)
    (tmp_path / "run/shadow-runner/server-id").write_text("server-1")
    monkeypatch.setattr(client, "_open", made.answer)
    clock = SimpleNamespace(sleep=made.sleep, monotonic=lambda: made.now, time=lambda: made.now)
    monkeypatch.setattr(client, "time", clock)
    return made


def test_what_ends_something_is_told_when_the_controller_says_it_may(played: Played) -> None:
    played.answers = [BUSY, BUSY, (503, {}, b""), TAKEN]
    assert played.client.status("ended", "ok", "done") == 0
    assert played.pauses == [7, 7, 4]


def test_a_phase_on_the_way_is_not_worth_waiting_for(played: Played) -> None:
    played.answers = [BUSY]
    assert played.client.status("docker", "ok", "configured") == 1
    assert played.pauses == []


def test_a_configuration_is_asked_for_again_after_the_pause_that_the_controller_names(
    played: Played, tmp_path: Path
) -> None:
    played.answers = [
        BUSY,
        (202, {"retry-after": "2"}, b"{}"),
        (500, {}, b""),
        (200, {}, b'{"kind": "github"}'),
    ]
    assert played.client.config(str(tmp_path / "config")) == 0
    assert played.pauses == [7, 2, 5]
    assert (tmp_path / "config/kind").read_text() == "github"


def test_a_reclaim_is_told_through_a_crowd_and_broken_answers(played: Played) -> None:
    broken = http.client.IncompleteRead(b"half")
    played.answers = [broken, BUSY, ConnectionResetError(), TAKEN]
    assert played.client._tell("reclaim", 1000, at=None)
    assert played.pauses == [1, 7, 4]


@pytest.mark.parametrize(
    ("named", "waited"),
    [
        ("3600", 60),
        ("0", 1),
        ("0.2", 1),
        ("-5", 1),
        ("inf", 60),
        ("nan", 5),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 5),
        ("", 5),
    ],
)
def test_a_pause_is_never_endless_and_never_a_busy_loop(
    played: Played, tmp_path: Path, named: str, waited: float
) -> None:
    played.answers = [(429, {"Retry-After": named}, b""), (410, {}, b"")]
    assert played.client.config(str(tmp_path / "config")) == 3
    assert played.pauses == [waited]


def test_an_identity_that_was_half_kept_is_asked_for_again(
    played: Played, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "run/shadow-runner/server-id"
    kept.write_text("")
    monkeypatch.setattr(played.client, "_meta_data", lambda: {"uuid": "server-2"})
    assert played.client._server_id() == "server-2"
    assert kept.read_text() == "server-2"


@pytest.mark.parametrize("notice", ["nan", "inf", "-inf", "soon"])
def test_a_notice_without_a_time_is_told_without_one(played: Played, notice: str) -> None:
    """JSON has no word for these: the controller would refuse the whole notice."""
    assert played.client._seconds(notice) is None


def test_a_controller_that_is_always_busy_ends_the_wait_in_time(played: Played, tmp_path: Path) -> None:
    played.answers = [BUSY]
    assert played.client.config(str(tmp_path / "config")) == 4
    assert sum(played.pauses) <= 600 + 7
