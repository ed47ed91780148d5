"""What VMs report, as the core's events."""

import json
import logging
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shadow_autoscaler.core.events import Event, ReclaimNoticed, VmReported
from shadow_autoscaler.runtime.engine import Engine

_log = logging.getLogger(__name__)
STATUS, RECLAIM, CONFIG = "status", "reclaim", "config"


class UnreadableError(ValueError):
    """A body that cannot be understood."""


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True)
    server_id: str = Field(max_length=64)
    at: float | None = None


class _Status(_Report):
    phase: str = Field(min_length=1, max_length=64)
    status: str = Field(pattern="^(ok|wait|failed)$")
    reason: str = Field(default="", max_length=2000)


def server_id(body: bytes) -> str:
    """Return which server a report claims to come from; `UnreadableError` when it does not say so."""
    try:
        return _Report.model_validate_json(body).server_id
    except ValidationError as error:
        raise UnreadableError(_faults(error)) from None


def event_of(vm: str, name: str, body: bytes) -> Event:
    """Translate one report; `UnreadableError` when it is malformed."""
    try:
        if name == RECLAIM:
            return ReclaimNoticed(vm, _Report.model_validate_json(body).at)
        report = _Status.model_validate_json(body)
    except ValidationError as error:
        raise UnreadableError(_faults(error)) from None
    return VmReported(vm, report.phase, report.status, report.reason)


def wrap(vm: str, body: bytes) -> bytes:
    """Return a report with its VM's name, as it lies in the inbox."""
    return json.dumps({"vm": vm, "report": body.decode("utf-8", "replace")}).encode()


def _unwrap(body: bytes) -> tuple[str, bytes]:
    """Return the VM's name and the report."""
    wrapped = json.loads(body)
    return wrapped["vm"], wrapped["report"].encode()


class Reports:
    """Translates reports from the inbox; those of another server than the VM's are dropped."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def events(self, name: str, body: bytes) -> Sequence[Event]:
        """Translate one report."""
        vm, report = _unwrap(body)
        known = self._engine.read(lambda state: state.vms.get(vm))
        if known is None or known.server_id not in {"", server_id(report)}:
            _log.warning("report of an unknown server dropped", extra={"vm": vm, "report": name})
            return ()
        return (event_of(vm, name, report),)


def _faults(error: ValidationError) -> str:
    parts = (f"{'.'.join(map(str, fault['loc'])) or 'body'}: {fault['msg']}" for fault in error.errors())
    return "; ".join(parts)
