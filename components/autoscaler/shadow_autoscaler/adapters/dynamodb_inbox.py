"""The inbox part of the DynamoDB store: a line of unhandled deliveries and a mark for each that was seen."""

import itertools
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from shadow_autoscaler.adapters import dynamodb_items as items
from shadow_autoscaler.adapters.aws_errors import code_of
from shadow_autoscaler.adapters.dynamodb_items import Item, Op
from shadow_autoscaler.ports import Delivery

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

_BATCH = 50
"""Two writes for each delivery, and a transaction takes a hundred."""


class DynamoInbox:
    """Accepts deliveries from any process; needs no lease."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client, self._table = client, table
        self._count = itertools.count()

    def accept(self, deliveries: Sequence[Delivery]) -> list[bool]:
        """Write deliveries, each once; say which are still to be handled."""
        fresh: dict[str, Delivery] = {}
        for delivery in deliveries:
            fresh.setdefault(delivery.delivery_id, delivery)
        unhandled: dict[str, bool] = {}
        todo = list(fresh.values())
        for item in (rest for delivery in todo for rest in items.rest_items(delivery)):
            self._client.put_item(TableName=self._table, Item=item)
        for start in range(0, len(todo), _BATCH):
            unhandled |= self._accept(todo[start : start + _BATCH])
        return [unhandled[delivery.delivery_id] for delivery in deliveries]

    def read(self, limit: int) -> list[Delivery]:
        """Return the beginning of the line."""
        found = self._client.query(
            TableName=self._table,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": "open"}},
            ConsistentRead=True,
            Limit=limit,
        )
        return [items.delivery(item, self._rest(item)) for item in found["Items"]]

    def reject(self, delivery_id: str, reason: str) -> None:
        """Take a delivery out of the line for good; its body stays with the mark until that expires."""
        place = self._place(delivery_id)
        if place is None:
            return
        line = self._get(items.key("open", place))
        delete, mark = items.closing_ops(delivery_id, place, time.time(), reason)
        kept = Op(put={**(mark.put or {}), **({"body": line["body"]} if line else {})})
        self._transact([delete.transact(self._table), kept.transact(self._table)])

    def closing(self, delivery_id: str, at: float) -> list[Op]:
        """Return the writes that close a delivery; none when it is not in the line."""
        place = self._place(delivery_id) if delivery_id else None
        return [] if place is None else items.closing_ops(delivery_id, place, at)

    def _rest(self, item: Item) -> bytes:
        keys = [items.rest_key(item["delivery_id"]["S"], n + 1) for n in range(items.rest_of(item))]
        found = [self._get(place) for place in keys]
        return b"".join(bytes(part["body"]["B"]) for part in found if part)

    def _accept(self, batch: Sequence[Delivery]) -> dict[str, bool]:
        try:
            self._transact([member for delivery in batch for member in self._members(delivery)])
        except ClientError as error:
            # Refused as too large for one transaction, or held up by one that was seen before.
            if code_of(error) not in {"TransactionCanceledException", "ValidationException"}:
                raise
            if len(batch) == 1:
                return {batch[0].delivery_id: self._known(batch[0].delivery_id, error)}
            results = [self._accept([delivery]) for delivery in batch]
            return {name: result for each in results for name, result in each.items()}
        return {delivery.delivery_id: True for delivery in batch}

    def _known(self, delivery_id: str, error: ClientError) -> bool:
        mark = self._get(items.seen_key(delivery_id))
        if mark is None:
            raise error
        return "place" in mark

    def _members(self, delivery: Delivery) -> list[Any]:
        place = f"{time.time_ns():020d}-{next(self._count):09d}"
        mark = {**items.seen_key(delivery.delivery_id), "place": {"S": place}}
        line = {**items.key("open", place), **items.delivery_item(delivery)}
        new = "attribute_not_exists(pk)"
        return [
            {"Put": {"TableName": self._table, "Item": mark, "ConditionExpression": new}},
            {"Put": {"TableName": self._table, "Item": line}},
        ]

    def _place(self, delivery_id: str) -> str | None:
        mark = self._get(items.seen_key(delivery_id)) or {}
        return mark["place"]["S"] if "place" in mark else None

    def _get(self, place: Item) -> Item | None:
        return self._client.get_item(TableName=self._table, Key=place, ConsistentRead=True).get("Item")

    def _transact(self, members: Sequence[Any]) -> None:
        self._client.transact_write_items(TransactItems=members)
