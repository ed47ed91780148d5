"""Job Hooks that did not arrive, sent again: once each, and no more at a time than GitLab allows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from pydantic import BaseModel

from shadow_autoscaler.adapters.gitlab_client import CallError, GitLabClient
from shadow_autoscaler.adapters.gitlab_payloads import DONE, Moment, Number
from shadow_autoscaler.adapters.recent import Recent
from shadow_autoscaler.core.faults import FailureKind

PER_MINUTE: Final = 5
"""GitLab's default limit of resent hooks for each user and project."""
_PAGES: Final = 5
_STATES: Final = DONE | {"pending"}


class _Hook(BaseModel):
    id: Number
    url: str
    job_events: bool = False


class _Event(BaseModel):
    id: Number
    request_headers: Mapping[str, str] = {}
    request_data: Mapping[str, Any] = {}
    response_status: str
    created_at: Moment | None = None

    @property
    def key(self) -> str:
        """What all attempts of one event have in common."""
        return self.request_headers.get("Idempotency-Key", f"event {self.id}")

    @property
    def arrived(self) -> bool:
        return self.response_status.startswith("2")

    @property
    def matters(self) -> bool:
        kind, state = self.request_data.get("object_kind"), self.request_data.get("build_status")
        return kind == "build" and state in _STATES


@dataclass(slots=True)
class Resending:
    """Remembers what was sent again."""

    client: GitLabClient
    webhook_url: str
    _repeated: Recent[str, bool] = field(default_factory=Recent[str, bool])

    def run(self, project: str, since: float) -> int:
        """Have a project's failed Job Hooks since then sent again, at most five; return how many.

        A server that cannot do this (before 17.4) resends none.
        """
        base = f"/projects/{quote(project, safe='')}/hooks"
        hooks = [
            hook
            for hook in self.client.listed(base, _Hook)
            if hook.url.rstrip("/") == self.webhook_url.rstrip("/") and hook.job_events
        ]
        return sum(self._resend(f"{base}/{hook.id}/events", since) for hook in hooks)

    def _resend(self, path: str, since: float) -> int:
        sent = 0
        for event in self._lost(self._listed(path, since)):
            if sent == PER_MINUTE:
                break
            try:
                self.client.write("post", f"{path}/{event.id}/resend")
            except CallError as error:
                if error.failure.kind is FailureKind.THROTTLED or error.status == HTTPStatus.NOT_FOUND:
                    break
                raise
            self._repeated.put(event.key, True)
            sent += 1
        return sent

    def _listed(self, path: str, since: float) -> list[_Event]:
        found: list[_Event] = []
        try:
            for number, event in enumerate(self.client.listed(path, _Event), 1):
                old = event.created_at is not None and event.created_at.timestamp() < since
                if old or number > _PAGES * 100:
                    break
                found.append(event)
        except CallError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
        return found

    def _lost(self, found: Iterable[_Event]) -> list[_Event]:
        """Events of which the only attempt failed, oldest first."""
        by_key: dict[str, list[_Event]] = {}
        for event in found:
            by_key.setdefault(event.key, []).append(event)
        return [
            attempts[0]
            for key, attempts in reversed(by_key.items())
            if len(attempts) == 1
            and not self._repeated.get(key)
            and attempts[0].matters
            and not attempts[0].arrived
        ]
