"""The store in one DynamoDB table, for a controller without a disk of its own.

A commit is one transaction. One with more rows than a transaction takes goes through a redo log: its parts
are written, one transaction makes them count, then they are carried out; whoever takes the lease carries out
what a former holder left. Every write is conditional on the fencing number.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from shadow_autoscaler.adapters import dynamodb_items as items
from shadow_autoscaler.adapters import state_rows
from shadow_autoscaler.adapters.aws_errors import code_of, port_errors
from shadow_autoscaler.adapters.codec import encode
from shadow_autoscaler.adapters.dynamodb_inbox import DynamoInbox
from shadow_autoscaler.adapters.dynamodb_items import LEASE, Item, Op
from shadow_autoscaler.adapters.sqlite_rows import expired
from shadow_autoscaler.adapters.sqlite_schema import new_generation
from shadow_autoscaler.adapters.state_rows import Damaged
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError
from shadow_autoscaler.core.state import Counters, State
from shadow_autoscaler.ports import AuditLine, Commit, Delivery, LeaseLostError, Outgoing

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

TRANSACTION = 100
"""Items that a transaction takes."""


@dataclass(frozen=True, slots=True)
class _Held:
    """The lease as this object holds it."""

    fence: int
    version: int
    number: int
    """Numbers given out so far."""


class DynamoStore:
    """A `Store` in a table that `create_table` makes."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client, self._table = client, table
        self._held: _Held | None = None
        self._inbox = DynamoInbox(client, table)
        with port_errors(f"table {table}"):
            self._begin()

    def accept(self, deliveries: Sequence[Delivery]) -> Sequence[bool]:
        """Write deliveries to the inbox."""
        with self._errors("accept"):
            return self._inbox.accept(deliveries)

    def inbox(self, limit: int = 100) -> Sequence[Delivery]:
        """Return unhandled deliveries, oldest first."""
        with self._errors("inbox"):
            return self._inbox.read(limit)

    def reject(self, delivery_id: str, reason: str) -> None:
        """Set a delivery aside."""
        with self._errors("reject"):
            self._inbox.reject(delivery_id, reason)

    def load(self) -> State:
        """Return the whole state."""
        with self._errors("load"):
            rows = [items.state_row(item) for item in self._query("state")]
        return state_rows.read(rows, f"table {self._table}")

    def commit(self, commit: Commit) -> Sequence[Outgoing]:
        """Write a transaction."""
        if self._held is None:
            raise LeaseLostError(f"table {self._table}: the lease is not held; nothing was written")
        with self._errors("commit"):
            held = self._held
            added = [
                Outgoing(held.number + count, intent, commit.at)
                for count, intent in enumerate(commit.decision.intents, 1)
            ]
            next_number = held.number + len(added) + len(commit.decision.notes)
            ops = self._ops(commit, added, held.number + len(added))
            self._held = self._write(held, ops, next_number)
        return added

    def outbox(self) -> Sequence[Outgoing]:
        """Return every unfinished intent, oldest first."""
        with self._errors("outbox"):
            rows = [items.intent_row(item) for item in self._query("outbox")]
        return state_rows.outgoing(rows, f"table {self._table}")

    def damaged(self) -> Sequence[Damaged]:
        """Return every row that this version cannot read."""
        with self._errors("damaged"):
            rows = [items.state_row(item) for item in self._query("state")]
            rows += [items.intent_row(item)[0] for item in self._query("outbox")]
        return state_rows.find(rows)

    def set_aside(self, damaged: Sequence[Damaged]) -> None:
        """Take rows out; without counters, names get a new generation."""
        with self._errors("set aside"):
            for one in damaged:
                self._client.delete_item(TableName=self._table, Key=items.key_of(one.row))
            self._begin()

    def lease(self, owner: str, seconds: float, now: float) -> bool:
        """Take, renew or (no owner) give back the lease."""
        with self._errors("lease"):
            meta = self._meta()
            fence, holder = int(meta["fence"]["N"]), meta["owner"]["S"]
            mine = bool(holder) and self._held is not None and fence == self._held.fence
            if not owner:
                self._held = None
                return not mine or self._set_lease(meta, "", fence, 0.0, 0.0) or True
            free = not holder or expired(float(meta["taken_at"]["N"]), float(meta["seconds"]["N"]), now)
            if not (mine or free or holder == owner):
                self._held = None
                return False
            fence += 0 if mine and holder == owner else 1
            if not self._set_lease(meta, owner, fence, now, seconds):
                self._held = None
                return False
            self._take(meta, fence)
            return True

    def audit(self, subject: str = "", limit: int = 100) -> Sequence[AuditLine]:
        """Return the newest lines, newest first."""
        with self._errors("audit"):
            found = self._audit_of(subject, limit) if subject else self._newest("audit", limit)
            return [items.audit_line(item) for item in found]

    def _errors(self, verb: str) -> Any:
        return port_errors(f"table {self._table}, {verb}")

    def _begin(self) -> None:
        """Write what a new table needs; a table in use keeps what it has."""
        zero = {"N": "0"}
        meta = {"owner": {"S": ""}, "fence": zero, "taken_at": zero, "seconds": zero}
        counters = encode(Counters(generation=new_generation()))
        self._put_new({**LEASE, **meta, "version": zero, "number": zero})
        self._put_new({**items.key("state", "counters#"), "body": {"S": counters}})

    def _put_new(self, item: Item) -> None:
        try:
            self._client.put_item(
                TableName=self._table, Item=item, ConditionExpression="attribute_not_exists(pk)"
            )
        except ClientError as error:
            if code_of(error) != "ConditionalCheckFailedException":
                raise

    def _meta(self) -> Item:
        found = self._client.get_item(TableName=self._table, Key=LEASE, ConsistentRead=True)
        return found.get("Item", {})

    def _set_lease(self, meta: Item, owner: str, fence: int, now: float, seconds: float) -> bool:
        """Change the lease unless somebody was faster."""
        try:
            self._client.update_item(
                TableName=self._table,
                Key=LEASE,
                UpdateExpression="SET #o = :o, fence = :f, taken_at = :t, #s = :s",
                ConditionExpression="fence = :old AND #o = :holder AND taken_at = :taken",
                ExpressionAttributeNames={"#o": "owner", "#s": "seconds"},
                ExpressionAttributeValues={
                    ":o": {"S": owner},
                    ":f": {"N": str(fence)},
                    ":t": {"N": repr(now)},
                    ":s": {"N": repr(seconds)},
                    ":old": meta["fence"],
                    ":holder": meta["owner"],
                    ":taken": meta["taken_at"],
                },
            )
        except ClientError as error:
            if code_of(error) == "ConditionalCheckFailedException":
                return False
            raise
        return True

    def _take(self, meta: Item, fence: int) -> None:
        if self._held is not None and self._held.fence == fence:
            return
        # A former holder may have written after our first look and before the fence moved.
        meta = self._meta()
        self._held = _Held(fence, int(meta["version"]["N"]), int(meta["number"]["N"]))
        if redo := meta.get("redo"):
            self._carry_out(self._held, int(redo["N"]))

    def _ops(self, commit: Commit, added: Iterable[Outgoing], number: int) -> list[Op]:
        ops = items.state_ops(commit)
        ops += [items.outgoing_op(row) for row in added]
        ops += [
            items.audit_op(number + n, commit.at, note) for n, note in enumerate(commit.decision.notes, 1)
        ]
        ops += [Op(delete=items.number_key("outbox", done)) for done in dict.fromkeys(commit.finished)]
        ops += self._postponed(commit)
        return ops + self._inbox.closing(commit.delivery_id, commit.at)

    def _postponed(self, commit: Commit) -> list[Op]:
        ops = list[Op]()
        for number, due_at in commit.postponed.items():
            place = items.number_key("outbox", number)
            found = self._client.get_item(TableName=self._table, Key=place, ConsistentRead=True).get("Item")
            if found and number not in commit.finished:
                row = items.outgoing(found)
                ops.append(items.outgoing_op(replace(row, due_at=due_at, attempts=row.attempts + 1)))
        return ops

    def _write(self, held: _Held, ops: list[Op], number: int) -> _Held:
        after = _Held(held.fence, held.version + 1, number)
        if len(ops) < TRANSACTION:
            self._advance(held, after, ops)
            return after
        for index, part in enumerate(items.parts(ops)):
            item = {**items.key(f"redo#{after.version}", f"{index:06d}"), "ops": {"S": part}}
            self._client.put_item(TableName=self._table, Item=item)
        self._advance(held, after, [], redo=True)
        try:
            self._carry_out(after, after.version)
        except BaseException:
            # The commit counts, but this object cannot say so: whoever takes the lease next completes it.
            self._held = None
            raise
        return after

    def _advance(self, held: _Held, after: _Held, ops: list[Op], *, redo: bool = False) -> None:
        """Make a commit count. The version tells whether it did, should the answer get lost."""
        change = {
            "TableName": self._table,
            "Key": LEASE,
            "UpdateExpression": f"SET version = :new, #n = :number{', redo = :new' if redo else ''}",
            "ConditionExpression": "fence = :fence AND version = :old AND #o <> :nobody",
            "ExpressionAttributeNames": {"#n": "number", "#o": "owner"},
            "ExpressionAttributeValues": {
                ":new": {"N": str(after.version)},
                ":number": {"N": str(after.number)},
                ":fence": {"N": str(held.fence)},
                ":old": {"N": str(held.version)},
                ":nobody": {"S": ""},
            },
        }
        try:
            self._transact([{"Update": change}, *(op.transact(self._table) for op in ops)])
        except PortError as error:
            if error.failure.kind is not FailureKind.UNKNOWN_OUTCOME or not self._advanced(after):
                raise

    def _advanced(self, after: _Held) -> bool:
        try:
            meta = self._meta()
        except Exception:
            # Neither written nor not written, for all we know: only a new load can tell.
            self._held = None
            raise
        return int(meta["version"]["N"]) == after.version and int(meta["fence"]["N"]) == after.fence

    def _transact(self, members: list[Any]) -> None:
        try:
            with self._errors("commit"):
                self._client.transact_write_items(TransactItems=members)
        except PortError as error:
            cause = error.__cause__
            if isinstance(cause, ClientError) and code_of(cause) == "TransactionCanceledException":
                self._cancelled(cause)
            raise

    def _cancelled(self, error: ClientError) -> None:
        reasons: Any = error.response.get("CancellationReasons") or [{}]
        if reasons[0].get("Code") == "ConditionalCheckFailed":
            self._held = None
            raise LeaseLostError(f"table {self._table}: another process took the lease; nothing was written")
        codes = sorted({reason.get("Code", "None") for reason in reasons} - {"None"})
        text = f"table {self._table}: transaction refused: {', '.join(codes)}"
        raise PortError(Failure(FailureKind.TRANSIENT, text[:300])) from error

    def _carry_out(self, held: _Held, version: int) -> None:
        """Carry a redo log out, chunk by chunk, each only while the lease is ours; then forget it."""
        log = list(self._query(f"redo#{version}"))
        ops = [op for part in log for op in items.ops_of(part["ops"]["S"])]
        check = {
            "TableName": self._table,
            "Key": LEASE,
            "ConditionExpression": "fence = :fence",
            "ExpressionAttributeValues": {":fence": {"N": str(held.fence)}},
        }
        for start in range(0, len(ops), TRANSACTION - 1):
            chunk = ops[start : start + TRANSACTION - 1]
            self._transact([{"ConditionCheck": check}, *(op.transact(self._table) for op in chunk)])
        self._transact([{"Update": {**check, "UpdateExpression": "REMOVE redo"}}])
        for part in log:
            self._client.delete_item(TableName=self._table, Key={"pk": part["pk"], "sk": part["sk"]})

    def _query(self, pk: str) -> Iterable[Item]:
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": pk}},
            ConsistentRead=True,
        )
        return (item for page in pages for item in page["Items"])

    def _newest(self, pk: str, limit: int) -> Sequence[Item]:
        return self._client.query(
            TableName=self._table,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": pk}},
            ScanIndexForward=False,
            ConsistentRead=True,
            Limit=limit,
        )["Items"]

    def _audit_of(self, subject: str, limit: int) -> Sequence[Item]:
        return self._client.query(
            TableName=self._table,
            IndexName=items.BY_SUBJECT,
            KeyConditionExpression="subject = :subject",
            ExpressionAttributeValues={":subject": {"S": subject}},
            ScanIndexForward=False,
            Limit=limit,
        )["Items"]


def create_table(client: "DynamoDBClient", table: str) -> None:
    """Make the table, billed by request, with expiry and a backup for every second of 35 days."""
    client.create_table(
        TableName=table,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "subject")
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": items.BY_SUBJECT,
                "KeySchema": [
                    {"AttributeName": "subject", "KeyType": "HASH"},
                    {"AttributeName": "sk", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    client.get_waiter("table_exists").wait(TableName=table)
    expiry: Any = {"Enabled": True, "AttributeName": "expires"}
    client.update_time_to_live(TableName=table, TimeToLiveSpecification=expiry)
    client.update_continuous_backups(
        TableName=table, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
