"""What OpenStack's errors ask for: by status, by message, by the fault of a server that fails later."""

import re
from dataclasses import dataclass
from datetime import datetime

from shadow_autoscaler.adapters.http_text import bounded, seconds_until
from shadow_autoscaler.core.faults import Failure, FailureKind

_TEXT_LIMIT = 300


@dataclass(frozen=True, slots=True)
class Answer:
    """An error answer of a service."""

    call: str
    """Service, method and path, such as `compute POST /servers`."""
    status: int
    message: str
    retry_after: str = ""
    request_id: str = ""
    once: bool = False
    """Whether the call makes a server, so that a lost answer must not lead to a second one."""


_NO_ADDRESSES = r"no (more|fixed|available fixed) ip addresses|nomorefixedips|ipaddressgeneration"
_RESOURCES = (
    (
        "addresses",
        rf"{_NO_ADDRESSES}|fixed ips",
    ),
    ("floating_ips", r"floating.?ip"),
    ("gigabytes", r"gigabytes|volumesizeexceedsavailablequota"),
    ("volumes", r"volumelimitexceeded|number of volumes|for volumes"),
    ("ports", r"\bports?\b"),
)
_NOVA_RESOURCES = {
    "instances": "instances",
    "servers": "instances",
    "cores": "cores",
    "class:vcpu": "cores",
    "ram": "ram",
    "class:memory_mb": "ram",
}
_NOVA_QUOTA = re.compile(r"quota exceeded for ([\w:, ]+?):|resource_name='([\w:]+)'")
_QUOTA = re.compile(
    r"quota|is over a limit for|maximum number of (volumes|ports|fixed ips|floating ips)|limitexceeded"
    rf"|{_NO_ADDRESSES}"
)
_CAPACITY = re.compile(
    r"no valid host|not enough hosts|exhausted all hosts|exceeded maximum number of retries"
    r"|insufficient (compute )?resources|insufficient.*(memory|vcpu|disk|pci)|pci device request.*failed"
    r"|numa topology.*cannot fit|requested availability zone is not available"
)
_CONFIG = re.compile(
    r"image .*(could not be found|not found|invalid|unacceptable|not active|corrupt)|invalid image"
    r"|network .*could not be found|security group .*not found|unknown security group"
    r"|flavor.*(not be found|too small)|invalid key_name|keypair.*not found|no suitable network"
    r"|volume type.*(not be found|not found)"
)
_NOT_ALLOWED = re.compile(r"policy|not authorized|forbidden|not permitted|permission")


def of_answer(answer: Answer) -> Failure:
    """Classify an error answer."""
    kind, resource = _kind(answer)
    wait = retry_after_s(answer.retry_after) if kind is not FailureKind.QUOTA else None
    return Failure(kind, _text(answer), wait, resource)


def of_fault(message: str, code: int | None = None) -> Failure:
    """Classify the fault of a server that Nova took and could not build."""
    low = message.lower()
    text = (message or "the server is in ERROR without a fault text")[:_TEXT_LIMIT]
    if resource := _quota(low):
        return Failure(FailureKind.QUOTA, text, resource=resource)
    if _QUOTA.search(low):
        return Failure(FailureKind.QUOTA, text)
    if _CAPACITY.search(low):
        return Failure(FailureKind.CAPACITY, text)
    if _CONFIG.search(low) or code in {400, 404}:
        return Failure(FailureKind.CONFIG, text)
    return Failure(FailureKind.TRANSIENT, text)


def retry_after_s(value: str, now: datetime | None = None) -> float | None:
    """Read a Retry-After header, seconds or a date; None where there is none."""
    try:
        return bounded(float(value))
    except ValueError:
        return seconds_until(value, now)


def _kind(answer: Answer) -> tuple[FailureKind, str]:
    low = answer.message.lower()
    if answer.status in {400, 403, 409, 413} and _QUOTA.search(low):
        return FailureKind.QUOTA, _quota(low)
    if answer.status < 500 and _CAPACITY.search(low):
        return FailureKind.CAPACITY, ""
    return _by_status(answer, low), ""


def _by_status(answer: Answer, low: str) -> FailureKind:
    status = answer.status
    if status >= 500 or status == 408:
        lost = answer.once and status not in {501, 503, 505}
        return FailureKind.UNKNOWN_OUTCOME if lost else FailureKind.TRANSIENT
    if status == 429 or (status == 413 and answer.retry_after):
        return FailureKind.THROTTLED
    if status == 401 or (status == 403 and _NOT_ALLOWED.search(low)):
        return FailureKind.AUTH
    if status == 409 and "multiple possible networks" not in low:
        return FailureKind.CONFLICT
    return FailureKind.CONFIG


def _quota(low: str) -> str:
    if named := _NOVA_QUOTA.search(low):
        first = (named[1] or named[2]).split(",")[0].strip()
        if first in _NOVA_RESOURCES:
            return _NOVA_RESOURCES[first]
    if not _QUOTA.search(low):
        return ""
    return next((name for name, pattern in _RESOURCES if re.search(pattern, low)), "")


def _text(answer: Answer) -> str:
    tail = f" ({answer.request_id})" if answer.request_id else ""
    hint = " - or the credential's access rules do not allow this call" if answer.status == 401 else ""
    head = f"{answer.call}: {answer.status} {answer.message}"
    return head[: _TEXT_LIMIT - len(tail) - len(hint)] + hint + tail
