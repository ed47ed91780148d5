"""A guest's folder and commands, without a sandbox."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from localcloud.guests import boot_report, cli, guest
from localcloud.guests.guest import Guest, Record, all_guests, hostname
from localcloud.guests.metadata import Notice


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(guest, "state_home", lambda: tmp_path)
    return tmp_path / "guests"


def make(home: Path, server_id: str, **record: object) -> Guest:
    made = Guest(server_id, home)
    made.hardware.mkdir(parents=True)
    made.remember(**record)
    return made


@pytest.mark.parametrize(
    ("name", "expected"),
    [("gpu_0.a b", "gpu-0-a-b"), ("--", "server"), ("é", "server"), ("x" * 80, "x" * 63)],
)
def test_host_names(name: str, expected: str) -> None:
    assert hostname(name) == expected


def test_a_record_survives_and_ignores_what_it_does_not_know(home: Path) -> None:
    made = make(home, "a", name="gpu-0", port=20001)
    (made.folder / "guest.json").write_text('{"name": "gpu-0", "port": 20001, "new": 1}')
    assert made.record() == Record(name="gpu-0", port=20001)
    (made.folder / "guest.json").write_text('{"name"')
    assert made.record() == Record()


def test_reclaims_are_read_in_both_spellings(home: Path) -> None:
    made = make(home, "a")
    assert made.notice() is None
    made.announce(datetime(2026, 12, 1, tzinfo=UTC), "/x")
    assert made.notice() == Notice("2026-12-01T00:00:00Z", "/x")
    (made.folder / "reclaim.json").write_text('{"action": "terminate", "time": "2026-12-02T00:00:00Z"}')
    assert made.notice() == Notice("2026-12-02T00:00:00Z")


def test_a_guest_that_does_not_exist_cannot_be_reclaimed(home: Path) -> None:
    with pytest.raises(FileNotFoundError, match="its server must be ACTIVE"):
        Guest("none", home).announce(datetime.now(UTC))


def test_a_guest_is_found_by_name_or_beginning_of_its_id(home: Path) -> None:
    make(home, "abc-1", name="one")
    make(home, "abd-2", name="two")
    assert {g.id for g in all_guests()} == {"abc-1", "abd-2"}
    assert cli.find("two").id == "abd-2"
    assert cli.find("abc").id == "abc-1"
    with pytest.raises(cli.CommandError, match="more than one guest has id or name 'ab'"):
        cli.find("ab")
    with pytest.raises(cli.CommandError, match="no guest has id or name 'x'"):
        cli.find("x")


def test_commands_fail_with_a_remedy(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(home, "abc", name="one")
    for words, text in (
        (["exec", "one", "true"], "its server must be ACTIVE"),
        (["fault", "one", "melted"], "expected one of missing"),
        (["console", "nobody"], "python -m localcloud.guests ls"),
    ):
        assert cli.run(cli.parser().parse_args(words)) == 2
        assert text in capsys.readouterr().err


def test_the_list_shows_the_boot_s_phase(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = make(home, "abc", name="one")
    (made.folder / "boot.json").write_text('{"state": "done", "phase": "ready", "status": "ok"}')
    assert cli.run(cli.parser().parse_args(["ls"])) == 0
    assert capsys.readouterr().out.split() == ["abc", "one", "off", "boot", "done", "ready/ok"]


def test_the_report_takes_the_console_s_last_whole_phase(home: Path) -> None:
    made = make(home, "abc", boots=1)
    made.console.write_bytes(b"shadow-runner: phase=start status=ok reason=x\r\nshadow-runner: phase=gpu st")
    reporter = boot_report.Reporter(made)
    reporter.update()
    assert guest.read_json(made.folder / "boot.json")["phase"] == "start"
    with made.console.open("ab") as console:
        console.write(b"atus=failed reason=no \xff GPU\nother text\n")
    reporter.update()
    report = guest.read_json(made.folder / "boot.json")
    assert (report["phase"], report["status"], report["reason"]) == ("gpu", "failed", "no \ufffd GPU")
    assert report["running"] is False
