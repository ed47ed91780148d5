"""Tables of the SQLite store, as steps from one version to the next.

`PRAGMA user_version` is the number of steps done. A step is never changed once released; a new one is added
at the end. Each runs in a transaction of its own, together with the new number.
"""

import secrets
import sqlite3

from shadow_autoscaler.adapters.codec import encode
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError
from shadow_autoscaler.core.state import Counters

STEPS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE inbox (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            delivery_id TEXT NOT NULL UNIQUE,
            kind TEXT NOT NULL,
            event TEXT NOT NULL,
            body BLOB NOT NULL,
            received_at REAL NOT NULL,
            closed_at REAL,
            reason TEXT NOT NULL DEFAULT ''
        )""",
        "CREATE INDEX inbox_open ON inbox (number) WHERE closed_at IS NULL",
        "CREATE INDEX inbox_closed ON inbox (closed_at) WHERE closed_at IS NOT NULL",
        "CREATE TABLE rows (kind TEXT, key TEXT, body TEXT NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID",
        """CREATE TABLE outbox (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            kind TEXT NOT NULL,
            body TEXT NOT NULL,
            due_at REAL NOT NULL,
            attempts INTEGER NOT NULL DEFAULT 0
        )""",
        """CREATE TABLE audit (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            at REAL NOT NULL,
            subject TEXT NOT NULL,
            text TEXT NOT NULL
        )""",
        "CREATE INDEX audit_subject ON audit (subject, number)",
        "CREATE INDEX audit_at ON audit (at)",
        """CREATE TABLE lease (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            owner TEXT NOT NULL,
            fence INTEGER NOT NULL,
            taken_at REAL NOT NULL,
            seconds REAL NOT NULL
        )""",
        "INSERT INTO lease VALUES (1, '', 0, 0, 0)",
    ),
)
"""SQL statements of each step."""

_LETTERS = "bcdfghjklmnpqrstvwxz"


def new_generation() -> str:
    """Return five letters that tell this store's VM names from those of a store that was lost."""
    return "".join(secrets.choice(_LETTERS) for _ in range(5))


def migrate(db: sqlite3.Connection) -> None:
    """Bring the tables up to this version; `PortError` (CONFIG) for a file of a later one."""
    db.execute("BEGIN IMMEDIATE")
    try:
        _steps(db)
        add_counters(db)
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise


def add_counters(db: sqlite3.Connection) -> None:
    """Give a store that has none its counters, with a generation of its own."""
    body = encode(Counters(generation=new_generation()))
    db.execute("INSERT OR IGNORE INTO rows VALUES ('counters', '', ?)", (body,))


def _steps(db: sqlite3.Connection) -> None:
    (done,) = db.execute("PRAGMA user_version").fetchone()
    if done > len(STEPS):
        reason = f"the store's file has schema version {done}, this program knows up to {len(STEPS)}"
        raise PortError(Failure(FailureKind.CONFIG, f"{reason}; run the newer version of shadow-autoscaler"))
    for step in STEPS[done:]:
        for statement in step:
            db.execute(statement)
    db.execute(f"PRAGMA user_version = {len(STEPS)}")
