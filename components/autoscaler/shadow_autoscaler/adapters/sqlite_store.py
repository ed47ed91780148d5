"""The store in one SQLite file: inbox, state, outbox, audit trail and lease, durable before a call returns.

Write-ahead log with full synchronisation; every write is one `BEGIN IMMEDIATE` transaction, so a process
that dies between any two statements loses nothing committed and leaves nothing half written.
"""

import os
import sqlite3
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from shadow_autoscaler.adapters import sqlite_rows, state_rows
from shadow_autoscaler.adapters.sqlite_schema import add_counters, migrate
from shadow_autoscaler.adapters.state_rows import Damaged
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError
from shadow_autoscaler.core.state import State
from shadow_autoscaler.ports import AuditLine, Commit, Delivery, LeaseLostError, Outgoing

_BUSY_S = 10.0


class SqliteStore:
    """A `Store` in a file. Several threads may share it, and several processes the file."""

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        self._fence: int | None = None
        self._write_lock, self._read_lock = threading.Lock(), threading.Lock()
        with _port_errors(self._path):
            _create_private(self._path)
            self._writer = _connect(self._path)
            try:
                migrate(self._writer)
                self._reader = _connect(self._path)
            except BaseException:
                self._writer.close()
                raise
            self._reader.execute("PRAGMA query_only = ON")

    def close(self) -> None:
        """Close the file; the object cannot be used any more."""
        with self._read_lock, self._write_lock:
            self._reader.close()
            self._writer.close()

    def accept(self, deliveries: Sequence[Delivery]) -> Sequence[bool]:
        """Write deliveries to the inbox in one transaction."""
        with self._transaction() as db:
            return [sqlite_rows.accept(db, delivery) for delivery in deliveries]

    def inbox(self, limit: int = 100) -> Sequence[Delivery]:
        """Return unhandled deliveries, oldest first."""
        query = """SELECT delivery_id, kind, event, body, received_at FROM inbox
                   WHERE closed_at IS NULL ORDER BY number LIMIT ?"""
        with self._reading() as db:
            return [Delivery(*row) for row in db.execute(query, (limit,))]

    def reject(self, delivery_id: str, reason: str) -> None:
        """Set a delivery aside, its body kept for whoever looks into it."""
        with self._transaction() as db:
            db.execute(
                """UPDATE inbox SET closed_at = received_at, reason = ?
                   WHERE delivery_id = ? AND closed_at IS NULL""",
                (reason or "rejected", delivery_id),
            )

    def load(self) -> State:
        """Return the whole state as of one moment."""
        with self._reading() as db:
            rows = sqlite_rows.rows(db)
        return state_rows.read(rows, str(self._path))

    def commit(self, commit: Commit) -> Sequence[Outgoing]:
        """Write a transaction; `LeaseLostError` when another process took the lease or nobody holds it."""
        with self._transaction() as db:
            (fence,) = db.execute("SELECT fence FROM lease WHERE owner <> ''").fetchone() or (None,)
            if fence is None or fence != self._fence:
                raise LeaseLostError(
                    f"{self._path}: this process does not hold the lease; nothing was written"
                )
            return sqlite_rows.write(db, commit)

    def outbox(self) -> Sequence[Outgoing]:
        """Return every unfinished intent, oldest first."""
        with self._reading() as db:
            rows = sqlite_rows.intents(db)
        return state_rows.outgoing(rows, str(self._path))

    def damaged(self) -> Sequence[Damaged]:
        """Return every row that this version cannot read."""
        with self._reading() as db:
            rows = [*sqlite_rows.rows(db), *(row for row, _, _ in sqlite_rows.intents(db))]
        return state_rows.find(rows)

    def set_aside(self, damaged: Sequence[Damaged]) -> None:
        """Take rows out, unless they have changed since; without counters, names get a new generation."""
        with self._transaction() as db:
            for one in damaged:
                sqlite_rows.set_aside(db, one.row)
            add_counters(db)

    def lease(self, owner: str, seconds: float, now: float) -> bool:
        """Take or renew the lease; an empty owner gives back what this object holds."""
        with self._transaction() as db:
            self._fence = sqlite_rows.lease(db, self._fence, owner, seconds, now)
        return not owner or self._fence is not None

    def audit(self, subject: str = "", limit: int = 100) -> Sequence[AuditLine]:
        """Return the newest lines, newest first."""
        query = "SELECT at, subject, text FROM audit {} ORDER BY number DESC LIMIT ?"
        where, values = ("WHERE subject = ?", (subject, limit)) if subject else ("", (limit,))
        with self._reading() as db:
            return [AuditLine(*row) for row in db.execute(query.format(where), values)]

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        with self._write_lock, _port_errors(self._path):
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Connection]:
        with self._read_lock, _port_errors(self._path):
            self._reader.execute("BEGIN")
            try:
                yield self._reader
            finally:
                self._reader.execute("ROLLBACK")


def _create_private(path: Path) -> None:
    """Make the file for its owner alone; SQLite gives its side files the same mode."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    path.chmod(0o600)


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    return db


@contextmanager
def _port_errors(path: Path) -> Generator[None]:
    try:
        yield
    except (sqlite3.OperationalError, OSError) as error:
        # Locked, full, read-only, or not to be opened: each can mend without a change of configuration.
        remedy = "check that the disk is mounted, writable and not full"
        raise PortError(Failure(FailureKind.TRANSIENT, f"store {path}: {error}; {remedy}")) from error
    except sqlite3.DatabaseError as error:
        remedy = "move the file away and restart: the state is found again from the cloud and the forges"
        raise PortError(Failure(FailureKind.CONFIG, f"store {path}: {error}; {remedy}")) from error
