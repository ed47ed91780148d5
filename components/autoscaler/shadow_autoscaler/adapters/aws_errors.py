"""AWS failures as failures of a port."""

from collections.abc import Generator
from contextlib import contextmanager

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)

from shadow_autoscaler.core.faults import Failure, FailureKind, PortError

_KINDS = {
    "AccessDeniedException": FailureKind.AUTH,
    "AccessDenied": FailureKind.AUTH,
    "UnrecognizedClientException": FailureKind.AUTH,
    "ExpiredTokenException": FailureKind.AUTH,
    "InvalidSignatureException": FailureKind.AUTH,
    "ProvisionedThroughputExceededException": FailureKind.THROTTLED,
    "RequestLimitExceeded": FailureKind.THROTTLED,
    "ThrottlingException": FailureKind.THROTTLED,
    "RequestThrottled": FailureKind.THROTTLED,
    "ResourceNotFoundException": FailureKind.CONFIG,
    "AWS.SimpleQueueService.NonExistentQueue": FailureKind.CONFIG,
    "QueueDoesNotExist": FailureKind.CONFIG,
    "ValidationException": FailureKind.CONFIG,
}
_BEFORE = (EndpointConnectionError, ConnectTimeoutError)


@contextmanager
def port_errors(what: str) -> Generator[None]:
    """Turn whatever boto3 raises into `PortError`; `what` names the call and its object."""
    try:
        yield
    except ClientError as error:
        raise PortError(Failure(_kind_of(error), f"{what}: {_text(error)}"[:300])) from error
    except _BEFORE as error:
        raise PortError(Failure(FailureKind.TRANSIENT, f"{what}: {error}"[:300])) from error
    except NoCredentialsError as error:
        remedy = "give the process an IAM role or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        raise PortError(Failure(FailureKind.AUTH, f"{what}: no AWS credentials; {remedy}")) from error
    except ReadTimeoutError as error:
        raise PortError(Failure(FailureKind.UNKNOWN_OUTCOME, f"{what}: {error}"[:300])) from error
    except BotoCoreError as error:
        raise PortError(Failure(FailureKind.UNKNOWN_OUTCOME, f"{what}: {error}"[:300])) from error


def _kind_of(error: ClientError) -> FailureKind:
    """Return what an answer of AWS asks for; everything unknown is worth another try."""
    return _KINDS.get(code_of(error), FailureKind.TRANSIENT)


def code_of(error: ClientError) -> str:
    """Return AWS's error code."""
    return error.response.get("Error", {}).get("Code", "")


def _text(error: ClientError) -> str:
    return f"{code_of(error)}: {error.response.get('Error', {}).get('Message', '')}"
