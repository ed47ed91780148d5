"""Items of the DynamoDB table: one table, partition key `pk`, sort key `sk`.

| pk | sk | what |
|---|---|---|
| `meta` | `lease` | owner, fencing number, version (commits so far), next number, redo log in progress |
| `state` | `<kind>#<key>` | a row of the state |
| `open` | place in line | an unhandled delivery |
| `seen` + delivery ID | `-` | mark for deduplication; expires |
| `outbox` | number | an intent |
| `audit` | number | a line of the audit trail; expires |
| `redo` + version | part | operations of a commit too large for one transaction |
"""

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from shadow_autoscaler.adapters.codec import decode_intent, encode_intent
from shadow_autoscaler.adapters.sqlite_rows import AUDIT_KEPT_S, INBOX_KEPT_S, drops, upserts
from shadow_autoscaler.core.state import Note
from shadow_autoscaler.ports import AuditLine, Commit, Delivery, Outgoing

Item = dict[str, Any]
"""DynamoDB's own form: name to `{"S": …}`, `{"N": …}` or `{"B": …}`."""

LEASE: Item = {"pk": {"S": "meta"}, "sk": {"S": "lease"}}
BY_SUBJECT = "by-subject"
PART_BYTES = 300_000
"""Size of a part of the redo log; an item may have 400 KB."""


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
        Op(put={**key("state", f"{kind}#{name}"), "body": {"S": body}})
        for (kind, name), body in puts.items()
        if (kind, name) not in gone
    ]
    return ops + [Op(delete=key("state", f"{kind}#{name}")) for kind, name in gone]


def audit_op(number: int, at: float, note: Note) -> Op:
    """Return the write of a line of the audit trail."""
    item = {
        **number_key("audit", number),
        "subject": {"S": note.subject or "-"},
        "text": {"S": note.text},
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
        "body": {"S": body},
        "due_at": {"N": repr(row.due_at)},
        "attempts": {"N": str(row.attempts)},
    }
    return Op(put=item)


def outgoing(item: Mapping[str, Any]) -> Outgoing:
    """Read an intent."""
    intent = decode_intent(item["kind"]["S"], item["body"]["S"])
    return Outgoing(int(item["sk"]["S"]), intent, float(item["due_at"]["N"]), int(item["attempts"]["N"]))


def delivery_item(delivery: Delivery) -> Item:
    """Return a delivery's own attributes; the body is compressed, as an item may have 400 KB."""
    return {
        "delivery_id": {"S": delivery.delivery_id},
        "kind": {"S": delivery.kind},
        "event": {"S": delivery.event or "-"},
        "body": {"B": zlib.compress(delivery.body)},
        "received_at": {"N": repr(delivery.received_at)},
    }


def delivery(item: Mapping[str, Any]) -> Delivery:
    """Read a delivery."""
    return Delivery(
        item["delivery_id"]["S"],
        item["kind"]["S"],
        "" if item["event"]["S"] == "-" else item["event"]["S"],
        zlib.decompress(item["body"]["B"]),
        float(item["received_at"]["N"]),
    )


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
