"""The edge to openstacksdk: connecting, and its exceptions and answers in our words.

Everything of the SDK is imported on use: it takes most of a second, which a webhook's answer need not wait.
"""

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast

from shadow_autoscaler.adapters.openstack_errors import Answer
from shadow_autoscaler.adapters.openstack_settings import OpenStackSettings
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError

if TYPE_CHECKING:
    import requests
    from openstack.connection import Connection

_T = TypeVar("_T")
_TEXT_LIMIT = 300
_TAGS = re.compile(r"<[^>]+>|\s+")
_MISCONFIGURED = frozenset({"EndpointNotFound", "EmptyCatalog", "MissingRequiredOptions", "NoMatchingPlugin"})
_NOT_SENT = ("NewConnectionError", "NameResolutionError", "ConnectTimeoutError", "SSLCertVerificationError")


def connect(settings: OpenStackSettings) -> "Connection":
    """Read clouds.yaml and make a connection; nothing is sent yet."""
    from keystoneauth1.exceptions import ClientException  # noqa: PLC0415 - see the module's docstring
    from openstack.config import OpenStackConfig  # noqa: PLC0415
    from openstack.connection import Connection  # noqa: PLC0415
    from openstack.exceptions import SDKException  # noqa: PLC0415

    # With a file of its own the SDK would still let OS_CLIENT_CONFIG_FILE and its kin go first.
    own = {"config_files": [settings.clouds_file], "load_envvars": False}
    files: dict[str, Any] = own if settings.clouds_file else {}
    more: dict[str, Any] = {"region_name": settings.region} if settings.region else {}
    try:
        region = OpenStackConfig(**files).get_one(
            cloud=settings.cloud, api_timeout=settings.timeout_s, **more
        )
        return Connection(config=region)
    except (SDKException, ClientException, OSError, ValueError) as error:
        where = settings.clouds_file or "clouds.yaml"
        text = f"{where}: cloud {settings.cloud!r} cannot be used: {error}; expected a valid entry"
        raise PortError(Failure(FailureKind.CONFIG, text[:_TEXT_LIMIT])) from error


def guarded(send: Callable[[], _T], call: str, *, once: bool = False) -> _T:
    """Run something of the SDK; its exceptions become `PortError`.

    Args:
        send: What to run.
        call: Names it in errors.
        once: Whether it makes a server, so that a lost answer is an unknown outcome.
    """
    from keystoneauth1.exceptions import ClientException  # noqa: PLC0415 - see the module's docstring
    from openstack.exceptions import SDKException  # noqa: PLC0415
    from requests.exceptions import RequestException  # noqa: PLC0415

    try:
        return send()
    except (ClientException, SDKException, RequestException) as error:
        raise PortError(_failure(error, call, once=once)) from error


def answer(call: str, response: "requests.Response", *, once: bool = False) -> Answer:
    """Read an error answer."""
    headers = response.headers
    request_id = headers.get("x-openstack-request-id") or headers.get("x-compute-request-id") or ""
    return Answer(
        call, response.status_code, message(response), headers.get("Retry-After", ""), request_id, once=once
    )


def json_object(call: str, response: "requests.Response", *, once: bool = False) -> dict[str, Any]:
    """Return an answer's JSON object, empty for an empty body.

    Raises:
        PortError: the body is something else, as a proxy in between may answer.
    """
    body = _json(response)
    if isinstance(body, dict) and (body or not once):
        return cast("dict[str, Any]", body)
    if not response.content and not once:
        return {}
    text = f"{call}: expected a JSON object, got {message(response)!r}; is a proxy in between?"
    kind = FailureKind.UNKNOWN_OUTCOME if once else FailureKind.TRANSIENT
    raise PortError(Failure(kind, text[:_TEXT_LIMIT]))


def message(response: "requests.Response") -> str:
    """Return what the service says: each of them wraps it otherwise, and proxies answer HTML."""
    body = _json(response)
    if not isinstance(body, dict):
        return _TAGS.sub(" ", response.text).strip()[:_TEXT_LIMIT] or str(response.reason)
    outer = cast("dict[str, Any]", body)
    inner = (cast("dict[str, Any]", value) for value in outer.values() if isinstance(value, dict))
    error = next(inner, outer)
    words = (str(error[key]) for key in ("type", "message") if error.get(key))
    return ": ".join(words) or str(response.reason)


def _json(response: "requests.Response") -> object:
    try:
        body: object = response.json()
    except ValueError:
        return None
    return body


def _failure(error: Exception, call: str, *, once: bool) -> Failure:
    status = getattr(error, "http_status", None) or getattr(error, "status_code", None)
    text = f"{call}: {error}"[:_TEXT_LIMIT]
    if isinstance(status, int) and status < 500:
        # Only signing in and discovery raise statuses; all else comes back as an answer.
        return Failure(FailureKind.THROTTLED if status == 429 else FailureKind.AUTH, text)
    names = {type(each).__name__ for each in _chain(error)}
    if names & _MISCONFIGURED:
        return _failed(FailureKind.CONFIG, text, "; check region and credential in clouds.yaml")
    if "SSLCertVerificationError" in names:
        return _failed(FailureKind.TRANSIENT, text, "; set `cacert` in clouds.yaml or renew the certificate")
    lost = once and not names.intersection(_NOT_SENT)
    return Failure(FailureKind.UNKNOWN_OUTCOME if lost else FailureKind.TRANSIENT, text)


def _failed(kind: FailureKind, text: str, remedy: str) -> Failure:
    return Failure(kind, text[: _TEXT_LIMIT - len(remedy)] + remedy)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Go through an exception, its causes, and what urllib3 keeps in arguments and reasons."""
    waiting, seen = [error], set[int]()
    while waiting:
        each = waiting.pop()
        if not isinstance(each, BaseException) or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        waiting += [each.__cause__, each.__context__, getattr(each, "reason", None), *_errors(each.args)]


def _errors(values: tuple[Any, ...]) -> list[BaseException]:
    return [value for value in values if isinstance(value, BaseException)]
