"""What the SQLite store writes and reads, statement by statement, inside its transactions."""

import sqlite3
from collections.abc import Sequence

from shadow_autoscaler.adapters.codec import encode, encode_intent
from shadow_autoscaler.adapters.state_rows import OUTBOX, Row
from shadow_autoscaler.core.state import Decision
from shadow_autoscaler.ports import Commit, Delivery, Outgoing

INBOX_KEPT_S = 8 * 86_400.0
"""How long a handled delivery is remembered: a forge lets one be sent again for up to seven days."""
AUDIT_KEPT_S = 90 * 86_400.0
_PRUNED_AT_ONCE = 2000

_UPSERT = "INSERT INTO rows VALUES (?, ?, ?) ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body"


def accept(db: sqlite3.Connection, delivery: Delivery) -> bool:
    """Insert a delivery; say whether it is still to be handled."""
    db.execute(
        """INSERT INTO inbox (delivery_id, kind, event, body, received_at) VALUES (?, ?, ?, ?, ?)
           ON CONFLICT (delivery_id) DO NOTHING""",
        (delivery.delivery_id, delivery.kind, delivery.event, delivery.body, delivery.received_at),
    )
    query = "SELECT closed_at IS NULL FROM inbox WHERE delivery_id = ?"
    (is_open,) = db.execute(query, (delivery.delivery_id,)).fetchone()
    return bool(is_open)


def rows(db: sqlite3.Connection) -> list[Row]:
    """Read every row of the state, as it is."""
    return [Row(*row) for row in db.execute("SELECT kind, key, CAST(body AS BLOB) FROM rows")]


def intents(db: sqlite3.Connection) -> list[tuple[Row, float, int]]:
    """Read the outbox, as it is, with due times and attempts."""
    query = "SELECT number, kind, CAST(body AS BLOB), due_at, attempts FROM outbox ORDER BY number"
    return [
        (Row(OUTBOX, str(number), body, name), due_at, attempts)
        for number, name, body, due_at, attempts in db.execute(query)
    ]


def set_aside(db: sqlite3.Connection, row: Row) -> None:
    """Take a row out unless it has changed."""
    if row.kind == OUTBOX:
        db.execute("DELETE FROM outbox WHERE number = ? AND CAST(body AS BLOB) = ?", (int(row.key), row.body))
    else:
        same = "kind = ? AND key = ? AND CAST(body AS BLOB) = ?"
        db.execute(f"DELETE FROM rows WHERE {same}", (row.kind, row.key, row.body))  # noqa: S608


def write(db: sqlite3.Connection, commit: Commit) -> Sequence[Outgoing]:
    """Write everything of a commit; return its intents as outbox rows."""
    db.executemany(_UPSERT, upserts(commit.decision))
    db.executemany("DELETE FROM rows WHERE kind = ? AND key = ?", drops(commit.decision))
    db.executemany(
        "INSERT INTO audit (at, subject, text) VALUES (?, ?, ?)",
        [(commit.at, note.subject, note.text) for note in commit.decision.notes],
    )
    _close_delivery(db, commit)
    _update_outbox(db, commit)
    if commit.decision.prunes:
        _prune(db, commit.at)
    return [_enqueue(db, commit, index) for index in range(len(commit.decision.intents))]


def upserts(decision: Decision) -> list[tuple[str, str, str]]:
    """Return kind, key and JSON of every row that a decision sets."""
    rows: list[tuple[str, str, str]] = []
    rows += [("job", str(job.key), encode(job)) for job in decision.jobs]
    rows += [("vm", vm.name, encode(vm)) for vm in decision.vms]
    rows += [("pool", pool.name, encode(pool)) for pool in decision.pools]
    rows += [("suspect", suspect.what, encode(suspect)) for suspect in decision.suspects]
    rows += [("alarm", subject, repr(at)) for subject, at in decision.alarms.items() if at is not None]
    rows += [("quota", "", encode(decision.quota))] if decision.quota is not None else []
    rows += [("counters", "", encode(decision.counters))] if decision.counters is not None else []
    return rows


def drops(decision: Decision) -> list[tuple[str, str]]:
    """Return kind and key of every row that a decision takes away."""
    rows = [("job", str(key)) for key in decision.dropped_jobs]
    rows += [("vm", name) for name in decision.dropped_vms]
    rows += [("suspect", what) for what in decision.cleared_suspects]
    return rows + [("alarm", subject) for subject, at in decision.alarms.items() if at is None]


def lease(db: sqlite3.Connection, fence: int | None, owner: str, seconds: float, now: float) -> int | None:
    """Take, renew or (no owner) give back the lease; return the fencing number held, None when not held."""
    row = db.execute("SELECT owner, fence, taken_at, seconds FROM lease").fetchone()
    holder, number = row[0], int(row[1])
    mine = bool(holder) and number == fence
    if not owner:
        db.execute("UPDATE lease SET owner = '' WHERE ?", (mine,))
        return None
    if not (mine or holder == owner or not holder or expired(row[2], row[3], now)):
        return None
    held = number if mine and holder == owner else number + 1
    db.execute(
        "UPDATE lease SET owner = ?, fence = ?, taken_at = ?, seconds = ?", (owner, held, now, seconds)
    )
    return held


def expired(taken_at: float, seconds: float, now: float) -> bool:
    """Whether a lease has run out, or was written by a clock that was far ahead of this one."""
    return now >= taken_at + seconds or now < taken_at - seconds


def _close_delivery(db: sqlite3.Connection, commit: Commit) -> None:
    if commit.delivery_id:
        # The mark stays for deduplication; the body is of no use any more.
        db.execute(
            "UPDATE inbox SET closed_at = ?, body = x'' WHERE delivery_id = ? AND closed_at IS NULL",
            (commit.at, commit.delivery_id),
        )


def _update_outbox(db: sqlite3.Connection, commit: Commit) -> None:
    db.executemany("DELETE FROM outbox WHERE number = ?", [(number,) for number in commit.finished])
    db.executemany(
        "UPDATE outbox SET due_at = ?, attempts = attempts + 1 WHERE number = ?",
        [(due_at, number) for number, due_at in commit.postponed.items()],
    )


def _enqueue(db: sqlite3.Connection, commit: Commit, index: int) -> Outgoing:
    intent = commit.decision.intents[index]
    insert = "INSERT INTO outbox (kind, body, due_at) VALUES (?, ?, ?) RETURNING number"
    (number,) = db.execute(insert, (*encode_intent(intent), commit.at)).fetchone()
    return Outgoing(number, intent, commit.at)


def _prune(db: sqlite3.Connection, now: float) -> None:
    # A few rows each minute keep the file small without ever holding the lock for long.
    for table, column, kept in (("inbox", "closed_at", INBOX_KEPT_S), ("audit", "at", AUDIT_KEPT_S)):
        db.execute(
            f"""DELETE FROM {table} WHERE number IN
                (SELECT number FROM {table} WHERE {column} < ? LIMIT {_PRUNED_AT_ONCE})""",  # noqa: S608
            (now - kept,),
        )
