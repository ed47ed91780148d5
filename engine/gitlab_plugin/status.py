"""How errors reach the engine: the message as written, and the state of half-made objects."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import grpc
from gitlab_plugin.errors import PartialError, PluginError
from gitlab_plugin.resources import TYPES
from gitlab_plugin.values import Properties, from_struct, to_struct
from pulumi.runtime.proto import provider_pb2, status_pb2

_Answer = TypeVar("_Answer")
_Method = Callable[[Any, Any, Any], _Answer]


class _Status:
    """What gRPC's `abort_with_status` wants."""

    def __init__(self, message: str, details: bytes) -> None:
        self.code = grpc.StatusCode.UNKNOWN
        self.details = message
        self.trailing_metadata = (("grpc-status-details-bin", details),)


def fails_clearly(method: _Method[_Answer]) -> _Method[_Answer]:
    """Turn the plugin's own errors into gRPC errors without a stack trace."""

    @wraps(method)
    def call(self: Any, request: Any, context: Any) -> _Answer:
        try:
            return method(self, request, context)
        except PartialError as error:
            context.abort_with_status(_half_made(request, error))
        except (PluginError, ValueError) as error:
            context.abort(grpc.StatusCode.UNKNOWN, str(error))
        raise AssertionError("unreachable: abort raises")

    return call


def _half_made(request: Any, error: PartialError) -> _Status:
    """The object exists: its id and properties go into the state, so that nothing is left unowned."""
    kind = TYPES[request.urn.split("::")[2].rsplit("$", 1)[-1]]
    inputs = from_struct(request.news if hasattr(request, "news") else request.properties)
    detail = provider_pb2.ErrorResourceInitFailed(
        id=error.resource_id,
        properties=to_struct(
            Properties({**error.values, "id": error.resource_id}, inputs.secrets), secrets=kind.secrets
        ),
        reasons=[str(error)],
    )
    message = f"{kind.token} {error.resource_id} was written but not read back: {error}"
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=message)
    status.details.add().Pack(detail)
    return _Status(message, status.SerializeToString())
