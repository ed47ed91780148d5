"""Items of the DynamoDB table: one table, partition key `pk`, sort key `sk`.

| pk | sk | what |
|---|---|---|
| `meta` | `lease` | owner, fencing number, version (commits so far), next number, redo log in progress |
| `state` | `<kind>#<key>` | a row of the state |
| `open` | place in line | an unhandled delivery |
| `rest` + delivery ID | part | what of a delivery's body does not fit into one item; expires |
| `seen` + delivery ID | `-` | mark for deduplication; expires |
| `outbox` | number | an intent |
| `audit` | number | a line of the audit trail; expires |
| `redo` + version | part | operations of a commit too large for one transaction |
"""

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from shadow_autoscaler.adapters.codec import decode_intent, encode_intent
from shadow_autoscaler.adapters.sqlite_rows import AUDIT_KEPT_S, INBOX_KEPT_S, drops, upserts
from shadow_autoscaler.adapters.state_rows import OUTBOX, Row
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError
from shadow_autoscaler.core.state import Note
from shadow_autoscaler.ports import AuditLine, Commit, Delivery, Outgoing

Item = dict[str, Any]
"""DynamoDB's own form: name to `{"S": …}`, `{"N": …}` or `{"B": …}`."""

LEASE: Item = {"pk": {"S": "meta"}, "sk": {"S": "lease"}}
BY_SUBJECT = "by-subject"
PART_BYTES = 300_000
"""Size of a part of the redo log, and of a row's body; an item may have 400 KB."""
PLAIN_CHARACTERS = 60_000
"""Bodies that are longer are compressed; no character takes more than four bytes."""
PACKED = "zlib:"
"""Beginning of a body that is compressed; JSON never begins so."""
AUDIT_CHARACTERS = 60_000
REST_KEPT_S = 90 * 86_400.0
"""How long the rest of a long body is kept: far longer than any delivery waits."""


@dataclass(frozen=True, slots=True)
class Op:
    """One write, which does no harm when done twice."""

    put: Item | None = None
    delete: Item | None = None

    def transact(self, table: str) -> Any:
        """Return it as a member of a transaction."""
        if self.put is not None:
            return {"Put": {"TableName": table, "Item": self.put}}
        return {"Delete": {"TableName": table, "Key": self.delete}}


def key(pk: str, sk: str) -> Item:
    """Return an item's key."""
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def number_key(pk: str, number: int) -> Item:
    """Return the key of a numbered item, which sorts by number."""
    return key(pk, f"{number:020d}")


def state_ops(commit: Commit) -> list[Op]:
    """Return the writes of a decision's rows."""
    puts = {(kind, name): body for kind, name, body in upserts(commit.decision)}
    gone = drops(commit.decision)
    ops = [
        Op(put={**key("state", f"{kind}#{name}"), "body": _body(body, f"{kind} {name}")})
        for (kind, name), body in puts.items()
        if (kind, name) not in gone
    ]
    return ops + [Op(delete=key("state", f"{kind}#{name}")) for kind, name in gone]


def state_row(item: Mapping[str, Any]) -> Row:
    """Return a row of the state, as it is."""
    kind, _, name = item["sk"]["S"].partition("#")
    return Row(kind, name, _text(item["body"]))


def intent_row(item: Mapping[str, Any]) -> tuple[Row, float, int]:
    """Return an intent, as it is, with due time and attempts."""
    row = Row(OUTBOX, str(int(item["sk"]["S"])), _text(item["body"]), item["kind"]["S"])
    return row, float(item["due_at"]["N"]), int(item["attempts"]["N"])


def key_of(row: Row) -> Item:
    """Return the key under which a row is stored."""
    if row.kind == OUTBOX:
        return number_key("outbox", int(row.key))
    return key("state", f"{row.kind}#{row.key}")


def _body(text: str, what: str) -> Item:
    """Return a row's body, compressed where it is long; `PortError` (CONFIG) where even that is too long."""
    if len(text) <= PLAIN_CHARACTERS:
        return {"S": text}
    packed = PACKED + base64.b64encode(zlib.compress(text.encode())).decode()
    if len(packed) > PART_BYTES:
        reason = (
            f"{what} has {len(text):,} characters, {len(packed):,} packed, and a row takes {PART_BYTES:,}"
        )
        remedy = "nothing was written; store.kind: sqlite takes rows of any size"
        raise PortError(Failure(FailureKind.CONFIG, f"{reason}; {remedy}"))
    return {"S": packed}


def _text(body: Item) -> str:
    text = str(body["S"])
    if not text.startswith(PACKED):
        return text
    try:
        return zlib.decompress(base64.b64decode(text.removeprefix(PACKED))).decode()
    except (ValueError, zlib.error):
        return text  # no JSON, so whoever reads it says that it is damaged


def audit_op(number: int, at: float, note: Note) -> Op:
    """Return the write of a line of the audit trail."""
    item = {
        **number_key("audit", number),
        "subject": {"S": note.subject or "-"},
        "text": {"S": note.text[:AUDIT_CHARACTERS]},
        "at": {"N": repr(at)},
        "expires": {"N": str(int(at + AUDIT_KEPT_S))},
    }
    return Op(put=item)


def audit_line(item: Mapping[str, Any]) -> AuditLine:
    """Read a line of the audit trail."""
    return AuditLine(float(item["at"]["N"]), item["subject"]["S"], item["text"]["S"])


def outgoing_op(row: Outgoing) -> Op:
    """Return the write of an intent."""
    kind, body = encode_intent(row.intent)
    item = {
        **number_key("outbox", row.number),
        "kind": {"S": kind},
        "body": _body(body, f"intent {kind}"),
        "due_at": {"N": repr(row.due_at)},
        "attempts": {"N": str(row.attempts)},
    }
    return Op(put=item)


def outgoing(item: Mapping[str, Any]) -> Outgoing:
    """Read an intent."""
    row, due_at, attempts = intent_row(item)
    return Outgoing(int(row.key), decode_intent(row.name, row.body), due_at, attempts)


def delivery_item(delivery: Delivery) -> Item:
    """Return a delivery's own attributes; the body is compressed, and its rest lies in items of its own."""
    body = zlib.compress(delivery.body)
    return {
        "delivery_id": {"S": delivery.delivery_id},
        "kind": {"S": delivery.kind},
        "event": {"S": delivery.event or "-"},
        "body": {"B": body[:PART_BYTES]},
        "rest": {"N": str((max(len(body), 1) - 1) // PART_BYTES)},
        "received_at": {"N": repr(delivery.received_at)},
    }


def rest_items(delivery: Delivery) -> list[Item]:
    """Return what of a delivery's body does not fit into its own item; it expires when it is of no use."""
    body = zlib.compress(delivery.body)
    expires = {"N": str(int(delivery.received_at + REST_KEPT_S))}
    return [
        {**rest_key(delivery.delivery_id, at // PART_BYTES), "body": {"B": part}, "expires": expires}
        for at in range(PART_BYTES, len(body), PART_BYTES)
        for part in [body[at : at + PART_BYTES]]
    ]


def rest_key(delivery_id: str, number: int) -> Item:
    """Return the key of a further part of a delivery's body."""
    return key(f"rest#{delivery_id}", f"{number:06d}")


def rest_of(item: Mapping[str, Any]) -> int:
    """Return how many further parts a delivery's body has."""
    return int(item["rest"]["N"]) if "rest" in item else 0


def delivery(item: Mapping[str, Any], rest: bytes = b"") -> Delivery:
    """Read a delivery."""
    return Delivery(
        item["delivery_id"]["S"],
        item["kind"]["S"],
        "" if item["event"]["S"] == "-" else item["event"]["S"],
        _whole(bytes(item["body"]["B"]) + rest),
        float(item["received_at"]["N"]),
    )


def _whole(body: bytes) -> bytes:
    try:
        return zlib.decompress(body)
    except zlib.error:
        return b""  # a part of it has expired; nothing can be read from it, so it is set aside


def seen_key(delivery_id: str) -> Item:
    """Return the key of a delivery's mark."""
    return key(f"seen#{delivery_id}", "-")


def closing_ops(delivery_id: str, place: str, at: float, reason: str = "") -> list[Op]:
    """Return the writes that take a delivery out of the inbox and remember it."""
    mark = {
        **seen_key(delivery_id),
        "closed": {"S": reason or "handled"},
        "expires": {"N": str(int(at + INBOX_KEPT_S))},
    }
    return [Op(delete=key("open", place)), Op(put=mark)]


def parts(ops: Iterable[Op]) -> list[str]:
    """Return operations as JSON texts, each small enough for an item."""
    texts, current, size = list[str](), list[str](), 0
    for op in ops:
        text = json.dumps([op.put, op.delete], separators=(",", ":"))
        if current and size + len(text) > PART_BYTES:
            texts.append(f"[{','.join(current)}]")
            current, size = [], 0
        current.append(text)
        size += len(text) + 1
    return [*texts, f"[{','.join(current)}]"]


def ops_of(part: str) -> list[Op]:
    """Read a part."""
    return [Op(put, delete) for put, delete in json.loads(part)]
