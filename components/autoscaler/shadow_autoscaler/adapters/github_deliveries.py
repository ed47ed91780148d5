"""Webhook deliveries that did not arrive, sent again: once each, and only those that a job depends on."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from pydantic import AwareDatetime, BaseModel, ValidationError

from shadow_autoscaler.adapters.event_errors import items, sentence
from shadow_autoscaler.adapters.github_client import CallError, GitHubClient
from shadow_autoscaler.adapters.github_payloads import Number
from shadow_autoscaler.core.faults import Failure, FailureKind

ACTIONS: Final = frozenset({"queued", "completed"})
_MAX_PAGES: Final = 30
_MOST: Final = 100
_KEPT_S: Final = 4 * 86_400.0
"""GitHub lists three days of deliveries, an Enterprise Server up to seven."""


class _Delivery(BaseModel):
    id: Number
    guid: str
    delivered_at: AwareDatetime
    redelivery: bool
    status_code: int
    event: str
    action: str | None = None

    @property
    def arrived(self) -> bool:
        return 200 <= self.status_code < 300

    @property
    def matters(self) -> bool:
        return self.event == "workflow_job" and self.action in ACTIONS


@dataclass(slots=True)
class Redelivery:
    """Remembers what was sent again, since GitHub lists a repeated delivery only once it is through."""

    _repeated: dict[str, float] = field(default_factory=dict[str, float])

    def run(self, client: GitHubClient, hook_path: str, since: float) -> int:
        """Have a hook's failed deliveries since then repeated, at most 100; return how many."""
        found = list(_listed(client, hook_path, since))
        lost = [one for one in _lost(found) if one.guid not in self._repeated][:_MOST]
        for one in lost:
            client.write("POST", f"{hook_path}/deliveries/{one.id}/attempts")
            self._repeated[one.guid] = one.delivered_at.timestamp()
        self._prune(max(self._repeated.values(), default=0.0) - _KEPT_S)
        return len(lost)

    def _prune(self, before: float) -> None:
        self._repeated = {guid: at for guid, at in self._repeated.items() if at >= before}


def _lost(found: Iterable[_Delivery]) -> list[_Delivery]:
    """Deliveries of which no attempt arrived and none was repeated before, oldest first."""
    by_guid: dict[str, list[_Delivery]] = {}
    for one in found:
        by_guid.setdefault(one.guid, []).append(one)
    lost = [
        attempts[-1]
        for attempts in by_guid.values()
        if attempts[-1].matters and not any(one.arrived or one.redelivery for one in attempts)
    ]
    return sorted(lost, key=lambda one: one.delivered_at)


def _listed(client: GitHubClient, hook_path: str, since: float) -> Iterator[_Delivery]:
    path, cursor = f"{hook_path}/deliveries", ""
    for _ in range(_MAX_PAGES):
        more = {"cursor": cursor} if cursor else {}
        response = client.raw(path, per_page=100, **more)
        for one in _read(path, response.content):
            if one.delivered_at.timestamp() < since:
                return
            yield one
        link = response.links.get("next", {}).get("url", "")
        cursor = "".join(parse_qs(urlsplit(link).query).get("cursor", [""])[:1])
        if not cursor:
            return


class _Page(BaseModel):
    found: tuple[_Delivery, ...]


def _read(path: str, content: bytes) -> tuple[_Delivery, ...]:
    try:
        return _Page.model_validate_json(b'{"found":' + content + b"}").found
    except ValidationError as error:
        raise CallError(Failure(FailureKind.TRANSIENT, f"GET {path}: {sentence(error)}"[:300]), 0) from None


def app_hook(client: GitHubClient, webhook_url: str) -> str | None:
    """API path of the App's own hook, if it is the one that leads to us."""
    try:
        address = client.get("/app/hook/config", lambda answer: str(answer.get("url", "")))
    except CallError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        return None
    same = not webhook_url or address.rstrip("/") == webhook_url.rstrip("/")
    return "/app/hook" if address and same else None


def hooks(client: GitHubClient, owner_path: str, webhook_url: str) -> list[str]:
    """API paths of an organisation's or a repository's hooks that lead to us."""

    def read(answer: Any) -> tuple[int, ...]:
        ours = (hook for hook in items(answer) if str(hook["config"].get("url", "")).rstrip("/") == wanted)
        return tuple(int(hook["id"]) for hook in ours)

    path, wanted = f"{owner_path}/hooks", webhook_url.rstrip("/")
    return [f"{path}/{number}" for page in client.pages(path, read) for number in page]
