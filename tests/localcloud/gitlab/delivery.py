"""Sending webhooks: one at a time for each hook, in order, at least once, with a log of every attempt."""

import asyncio
import contextlib
import time
import uuid
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx

from localcloud.gitlab import faults, hooks
from localcloud.gitlab.instance import Instance
from localcloud.gitlab.settings import VERSION
from localcloud.gitlab.signing import signature
from localcloud.gitlab.store import Row

TIMEOUT_S = 10.0
BODY_LIMIT = 8192
LOOPBACK = {"127.0.0.1", "localhost", "::1"}


def is_loopback(url: str) -> bool:
    """Whether a URL is http or https to this machine; no other target is ever contacted."""
    parts = urlsplit(url)
    return parts.scheme in {"http", "https"} and (parts.hostname or "") in LOOPBACK


@dataclass(slots=True)
class Deliverer:
    """Works off the queue of deliveries until it is cancelled."""

    instance: Instance
    busy: dict[int, asyncio.Task[None]] = field(default_factory=dict[int, asyncio.Task[None]])

    async def run(self) -> None:
        """Serve each hook that has something queued; wakes up when something is added."""
        while True:
            self.instance.wake.clear()
            for row in self.instance.store.query("SELECT DISTINCT hook_id FROM deliveries"):
                if row["hook_id"] not in self.busy:
                    self._serve(row["hook_id"])
            await self.instance.wake.wait()

    def _serve(self, hook_id: int) -> None:
        task = asyncio.create_task(self._drain(hook_id))
        self.busy[hook_id] = task
        task.add_done_callback(lambda _: self._served(hook_id))

    def _served(self, hook_id: int) -> None:
        self.busy.pop(hook_id, None)
        self.instance.wake.set()

    async def _drain(self, hook_id: int) -> None:
        store = self.instance.store
        while row := store.one("deliveries", hook_id=hook_id):
            hook = store.get("hooks", hook_id)
            if hooks.alert_status(self.instance, hook) == "executable":
                await self._send(hook, row)
            store.delete("deliveries", id=row["id"])

    async def _send(self, hook: Row, row: Row) -> None:
        fault = faults.take_hook(self.instance, row["event"], hook["url"])
        if fault.delay_s:
            await asyncio.sleep(fault.delay_s)
        if fault.kind == "hook_lost":
            return
        for _ in range(2 if fault.kind == "hook_doubled" else 1):
            status = await attempt(self.instance, hook, row)
            current = self.instance.store.one("hooks", id=hook["id"])
            if current:
                hooks.record_outcome(self.instance, current, succeeded=status < 400)


async def attempt(instance: Instance, hook: Row, row: Row) -> int:
    """Send one body now and log it; gives the HTTP status, or 599 when there was no answer."""
    headers = request_headers(instance, hook, row)
    began, error = time.monotonic(), None
    response: httpx.Response | None = None
    try:
        response = await _post(hook, row["payload"].encode(), headers)
    except (httpx.HTTPError, OSError, ValueError) as reason:
        error = str(reason) or type(reason).__name__
    _log(instance, hook, row, headers, response, error, time.monotonic() - began)
    return response.status_code if response is not None else 599


async def _post(hook: Row, body: bytes, headers: dict[str, str]) -> httpx.Response:
    if not is_loopback(hook["url"]):
        raise ValueError(f"{hook['url']} is not a loopback address")
    async with httpx.AsyncClient(
        timeout=TIMEOUT_S, trust_env=False, verify=hook["enable_ssl_verification"]
    ) as client:
        async with asyncio.timeout(TIMEOUT_S):
            return await client.post(hook["url"], content=body, headers=headers)


def request_headers(instance: Instance, hook: Row, row: Row) -> dict[str, str]:
    """All headers of a delivery; custom ones never replace GitLab's own."""
    headers = {item["key"]: item["value"] for item in hook["custom_headers"]}
    headers |= {
        "Content-Type": "application/json", "User-Agent": f"GitLab/{VERSION}", "X-Gitlab-Event": row["event"],
        "X-Gitlab-Webhook-UUID": hook["uuid"], "X-Gitlab-Instance": instance.settings.url,
        "X-Gitlab-Event-UUID": str(uuid.uuid4()), "Idempotency-Key": row["idempotency_key"],
    }  # fmt: skip
    if hook["token"]:
        headers["X-Gitlab-Token"] = hook["token"]
    if hook["signing_token"]:
        stamp = str(int(instance.clock.now().timestamp()))
        sign = signature(hook["signing_token"], row["idempotency_key"], stamp, row["payload"].encode())
        headers |= {
            "webhook-id": row["idempotency_key"],
            "webhook-timestamp": stamp,
            "webhook-signature": sign,
        }
    return headers


def _log(
    instance: Instance, hook: Row, row: Row, headers: dict[str, str], response: httpx.Response | None,
    error: str | None, duration_s: float,
) -> None:  # fmt: skip
    custom = {item["key"] for item in hook["custom_headers"]}
    hidden = custom | {"X-Gitlab-Token", "webhook-signature"}
    shown = {name: "[REDACTED]" if name in hidden else value for name, value in headers.items()}
    with contextlib.suppress(KeyError):
        instance.store.get("hooks", hook["id"])
        instance.store.insert(
            "hook_events", hook_id=hook["id"], url=hook["url"], trigger_name=row["trigger_name"],
            event=row["event"],
            request_headers=shown, request_data=row["payload"],
            response_headers=dict(response.headers) if response is not None else {},
            response_body=response.text[:BODY_LIMIT] if response is not None else "",
            response_status=str(response.status_code) if response is not None else "internal error",
            execution_duration=round(duration_s, 6), internal_error_message=error,
            created_at=instance.clock.stamp(),
        )  # fmt: skip
