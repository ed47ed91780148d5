"""What only a file can get wrong: its mode, its versions, and a process that dies in the middle."""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from store_contract import EVERYTHING, FACTS, VM, delivery

from shadow_autoscaler.adapters import sqlite_rows
from shadow_autoscaler.adapters.codec import decode, encode
from shadow_autoscaler.adapters.sqlite_schema import STEPS
from shadow_autoscaler.adapters.sqlite_store import SqliteStore
from shadow_autoscaler.core.faults import FailureKind, PortError
from shadow_autoscaler.core.jobs import JobFacts
from shadow_autoscaler.core.machines import Phase, Vm
from shadow_autoscaler.core.state import Decision, Note
from shadow_autoscaler.ports import Commit


def _open(path: Path) -> closing[SqliteStore]:
    return closing(SqliteStore(path))


def test_all_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "made" / "state.db"
    with _open(path) as store:
        store.accept([delivery()])
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == {"state.db": 0o600, "state.db-wal": 0o600, "state.db-shm": 0o600}


def test_a_file_that_was_open_to_others_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.touch(0o644)
    with _open(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_every_write_reaches_the_disk(tmp_path: Path) -> None:
    with _open(tmp_path / "state.db") as store:
        assert store._writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert store._writer.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_file_of_a_later_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(PortError, match=r"schema version 99, this program knows up to 1; run the newer"):
        SqliteStore(path)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


def test_a_file_of_each_earlier_version_is_brought_up(tmp_path: Path) -> None:
    for version in range(len(STEPS)):
        path = tmp_path / f"{version}.db"
        with closing(sqlite3.connect(path)) as db:
            for statement in [text for step in STEPS[:version] for text in step]:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {version}")
        with _open(path) as store:
            assert store.load().jobs == {}


def test_a_file_that_is_no_database_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(PortError, match="file is not a database; move the file away") as caught:
        SqliteStore(path)
    assert caught.value.failure.kind is FailureKind.CONFIG


def test_a_place_that_cannot_be_written_is_a_fault_that_can_mend(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PortError, match="check that the disk is mounted") as caught:
        SqliteStore(tmp_path / "file" / "state.db")
    assert caught.value.failure.kind is FailureKind.TRANSIENT


def test_a_failed_write_leaves_the_store_usable(tmp_path: Path) -> None:
    with _open(tmp_path / "state.db") as store:
        store._writer.execute("PRAGMA max_page_count = 20")
        with pytest.raises(PortError, match="full"):
            store.accept([delivery(body=b"x" * 1_000_000)])
        assert store.accept([delivery()]) == [True]
        assert store.inbox() == [delivery()]


def test_a_handled_delivery_keeps_no_body_and_is_forgotten_after_a_while(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with _open(path) as store, closing(sqlite3.connect(path)) as db:
        store.lease("one", 60.0, 0.0)
        store.accept([delivery(), delivery("D-2")])
        store.commit(Commit(Decision(notes=(Note("a", "old"),)), 20.0, delivery_id="D-1"))
        query = "SELECT delivery_id, length(body) FROM inbox ORDER BY number"
        assert db.execute(query).fetchall() == [("D-1", 0), ("D-2", 9)]
        store.commit(Commit(Decision(), 21.0 + sqlite_rows.INBOX_KEPT_S))
        assert db.execute(query).fetchall() == [("D-1", 0), ("D-2", 9)]  # the clock may be wrong
        store.commit(Commit(Decision(prunes=True), 21.0 + sqlite_rows.INBOX_KEPT_S))
        assert db.execute(query).fetchall() == [("D-2", 9)]
        late = Decision(notes=(Note("a", "new"),), prunes=True)
        store.commit(Commit(late, 21.0 + sqlite_rows.AUDIT_KEPT_S))
        assert [line.text for line in store.audit()] == ["new"]


def test_a_row_of_an_earlier_version_takes_defaults_and_of_a_later_one_loses_what_is_unknown() -> None:
    old = '{"name":"v","pool":"p","rung":0,"flavor":"f","market":"spot","phase":5,"planned_at":1.0,"new":[1]}'
    vm = decode(Vm, old)
    assert (vm.phase, vm.deletes, vm.job) == (Phase.BUSY, 0, None)
    assert decode(JobFacts, encode(FACTS)) == FACTS


def test_a_row_that_cannot_be_read_names_the_field_and_not_its_value() -> None:
    broken = encode(VM).replace('"market":"spot"', '"market":"leased-secret"')
    with pytest.raises(PortError, match="a Vm that this version cannot read: market: ") as caught:
        decode(Vm, broken)
    assert "leased-secret" not in str(caught.value)


WRITER = """
import os, signal, sys
from store_contract import EVERYTHING, delivery
from shadow_autoscaler.adapters.sqlite_store import SqliteStore
from shadow_autoscaler.ports import Commit
store = SqliteStore(sys.argv[1])
store.lease("one", 60.0, 0.0)
left = int(sys.argv[3])
def count(statement):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
store._writer.set_trace_callback(count)
if sys.argv[2] == "accept":
    store.accept([delivery("D-1"), delivery("D-2")])
else:
    store.commit(Commit(EVERYTHING, 20.0, delivery_id="D-0"))
print(left)
"""


def _write(path: Path, what: str, die_at: int) -> int | None:
    """Write in a process that dies before that statement; return the statements left, None when it died."""
    places = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", WRITER, str(path), what, str(die_at)],
        env={**os.environ, "PYTHONPATH": places},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr
    return None if done.returncode else int(done.stdout)


def _prepare(path: Path) -> None:
    with _open(path) as store:
        store.accept([delivery("D-0")])


def _seen(path: Path) -> tuple[int, int, int, list[str]]:
    with _open(path) as store:
        state = store.load()
        rows = len(state.jobs) + len(state.vms) + len(state.pools) + len(state.suspects) + len(state.alarms)
        return rows, len(store.outbox()), len(store.audit()), [row.delivery_id for row in store.inbox()]


@pytest.mark.parametrize("what", ["accept", "commit"])
def test_case_11_a_process_killed_between_any_two_statements_leaves_all_or_nothing(
    what: str, tmp_path: Path
) -> None:
    before = (0, 0, 0, ["D-0"])
    after = {"accept": (0, 0, 0, ["D-0", "D-1", "D-2"]), "commit": (9, len(EVERYTHING.intents), 2, [])}[what]
    _prepare(tmp_path / "whole.db")
    total = 1000 - (_write(tmp_path / "whole.db", what, 1000) or 0)
    assert _seen(tmp_path / "whole.db") == after
    # The first, second and last statements, and some between: one process each would take too long for all.
    for die_at in sorted({1, 2, 3, total - 1, total, *range(4, total, 10)}):
        path = tmp_path / f"{die_at}.db"
        _prepare(path)
        assert _write(path, what, die_at) is None
        assert _seen(path) == before, f"died before statement {die_at} of {total}"
