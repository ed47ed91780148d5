"""A queue on SQS. What is taken too often goes to the dead-letter queue of its redrive policy."""

import base64
import json
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from shadow_autoscaler.adapters.aws_errors import code_of, port_errors
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError
from shadow_autoscaler.ports import Delivery

if TYPE_CHECKING:
    from types_boto3_sqs import SQSClient
    from types_boto3_sqs.literals import QueueAttributeNameType

MAX_MESSAGE = 1_048_576
"""Bytes that a message may have."""
_BATCH = 10


class SqsQueue:
    """A `Queue`; the order of messages does not matter to the core, so a standard queue will do."""

    def __init__(self, client: "SQSClient", url: str) -> None:
        self._client, self._url = client, url

    def put(self, delivery: Delivery) -> None:
        """Hand over a delivery."""
        text = pack(delivery)
        if len(text) > MAX_MESSAGE:
            reason = f"delivery {delivery.delivery_id} has {len(text)} bytes packed, a message {MAX_MESSAGE}"
            raise PortError(Failure(FailureKind.REFUSED, reason))
        with port_errors(f"queue {self._url}, send"):
            self._client.send_message(QueueUrl=self._url, MessageBody=text)

    def take(self, limit: int = 10) -> Sequence[tuple[str, Delivery]]:
        """Return what is there now; it is hidden from others for the queue's visibility time-out."""
        with port_errors(f"queue {self._url}, receive"):
            answer = self._client.receive_message(
                QueueUrl=self._url, MaxNumberOfMessages=min(limit, _BATCH), WaitTimeSeconds=0
            )
        return [
            (message["ReceiptHandle"], unpack(message["Body"]))
            for message in answer.get("Messages", [])
            if "ReceiptHandle" in message and "Body" in message
        ]

    def done(self, receipt: str) -> None:
        """Forget one; a receipt that has grown old is no fault."""
        with port_errors(f"queue {self._url}, delete"):
            try:
                self._client.delete_message(QueueUrl=self._url, ReceiptHandle=receipt)
            except ClientError as error:
                if code_of(error) != "ReceiptHandleIsInvalid":
                    raise


def pack(delivery: Delivery) -> str:
    """Return a delivery as text; the body is compressed, so that a large webhook fits."""
    return json.dumps(
        {
            "delivery_id": delivery.delivery_id,
            "kind": delivery.kind,
            "event": delivery.event,
            "received_at": delivery.received_at,
            "body": base64.b64encode(zlib.compress(delivery.body)).decode(),
        }
    )


def unpack(text: str) -> Delivery:
    """Read what `pack` wrote."""
    content = json.loads(text)
    body = zlib.decompress(base64.b64decode(content["body"]))
    return Delivery(content["delivery_id"], content["kind"], content["event"], body, content["received_at"])


def create_queue(client: "SQSClient", name: str, *, visibility_s: int = 60, receives: int = 5) -> str:
    """Make a queue and its dead-letter queue `<name>-dead`; return the queue's address."""
    keep: dict[QueueAttributeNameType, str] = {
        "MessageRetentionPeriod": str(14 * 86_400),
        "SqsManagedSseEnabled": "true",
    }
    dead = client.create_queue(QueueName=f"{name}-dead", Attributes=keep)["QueueUrl"]
    arn = client.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    redrive = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": receives})
    attributes: dict[QueueAttributeNameType, str] = {
        **keep,
        "VisibilityTimeout": str(visibility_s),
        "RedrivePolicy": redrive,
    }
    return client.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
