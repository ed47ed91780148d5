"""The queues that keep the contract."""

import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from shadow_autoscaler.adapters.sqs_queue import SqsQueue, create_queue, unpack
from shadow_autoscaler.ports import Delivery, Queue
from shadow_autoscaler.testing.clock import VirtualClock
from shadow_autoscaler.testing.queue import FakeQueue


@dataclass(slots=True)
class Rig:
    """A queue, how to make what was taken visible again, and what was set aside as undeliverable."""

    queue: Queue
    expire: Callable[[], None]
    dead: Callable[[], list[Delivery]]
    receives: int


@pytest.fixture(params=["memory", "sqs"])
def rig(request: pytest.FixtureRequest) -> Rig:
    """An empty queue of each kind."""
    return _memory() if request.param == "memory" else _sqs(request.getfixturevalue("aws")("sqs"))


def _memory() -> Rig:
    clock = VirtualClock()
    queue = FakeQueue(clock, visibility_s=60.0, receives=3)
    return Rig(queue, lambda: clock.advance(61.0), lambda: queue.dead, 3)


def _sqs(client: Any) -> Rig:
    name = f"queue-{uuid.uuid4().hex[:12]}"
    url = create_queue(client, name, visibility_s=60, receives=3)
    dead_url = client.get_queue_url(QueueName=f"{name}-dead")["QueueUrl"]
    queue = SqsQueue(client, url)
    hidden: list[str] = []
    take = queue.take

    def remember(limit: int = 10) -> Any:
        taken = take(limit)
        hidden.extend(receipt for receipt, _ in taken)
        return taken

    def expire() -> None:
        # Time on a server cannot be moved: end the hiding of what was taken instead.
        for receipt in hidden:
            with suppress(client.exceptions.MessageNotInflight, client.exceptions.ReceiptHandleIsInvalid):
                client.change_message_visibility(QueueUrl=url, ReceiptHandle=receipt, VisibilityTimeout=0)
        hidden.clear()

    def dead() -> list[Delivery]:
        answer = client.receive_message(QueueUrl=dead_url, MaxNumberOfMessages=10)
        return [unpack(message["Body"]) for message in answer.get("Messages", [])]

    queue.take = remember  # type: ignore[method-assign]
    return Rig(queue, expire, dead, 3)
