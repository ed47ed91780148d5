"""Sends queued deliveries: signed, ten seconds at most, never retried, to loopback addresses only."""

import asyncio
import contextlib
import hashlib
import hmac
import ipaddress
import json
import time
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

import httpx

from localcloud.github import hooks
from localcloud.github.journal import MASK
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc

_CONCURRENT = 20
_IDLE_S = 0.5
_KEEP_RESPONSE = 10_000


def signature(secret: str, body: bytes, algorithm: str = "sha256") -> str:
    """Value of `X-Hub-Signature-256` (or `X-Hub-Signature`, with sha1)."""
    return f"{algorithm}={hmac.new(secret.encode(), body, algorithm).hexdigest()}"


def encode(hook: Doc, text: str) -> tuple[bytes, str]:
    """Body and content type of a payload."""
    if hook["config"].get("content_type") == "json":
        return text.encode(), "application/json"
    return urlencode({"payload": text}).encode(), "application/x-www-form-urlencoded"


def request_headers(hook: Doc, delivery: Doc, body: bytes, content_type: str) -> dict[str, str]:
    """All headers of a delivery."""
    kind, number = hooks.target(hook)
    headers = {
        "Accept": "*/*",
        "Content-Type": content_type,
        "User-Agent": f"GitHub-Hookshot/{hashlib.sha256(str(hook['id']).encode()).hexdigest()[:7]}",
        "X-GitHub-Delivery": delivery["guid"],
        "X-GitHub-Event": delivery["event"],
        "X-GitHub-Hook-ID": str(hook["id"]),
        "X-GitHub-Hook-Installation-Target-ID": str(number),
        "X-GitHub-Hook-Installation-Target-Type": kind,
    }
    if secret := hook["config"].get("secret"):
        headers["X-Hub-Signature"] = signature(secret, body, "sha1")
        headers["X-Hub-Signature-256"] = signature(secret, body)
    return headers


def is_loopback(url: str) -> bool:
    """Whether the address stays on this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How a delivery went; code 0 where there was no answer."""

    code: int
    status: str
    headers: dict[str, str] = field(default_factory=dict[str, str])
    text: str = ""


@dataclass(slots=True)
class Sender:
    """The loop that sends; deliveries that a crash left pending are sent after the restart."""

    sim: Simulator
    tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    taken: set[int] = field(default_factory=set[int])

    async def run(self) -> None:
        """Send for ever."""
        async with contextlib.AsyncExitStack() as stack:
            clients = {
                verify: await stack.enter_async_context(httpx.AsyncClient(verify=verify, trust_env=False))
                for verify in (True, False)
            }
            while True:
                self._start_due(clients)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.sim.deliveries_wake.wait(), _IDLE_S)
                self.sim.deliveries_wake.clear()

    def _start_due(self, clients: dict[bool, httpx.AsyncClient]) -> None:
        now = self.sim.clock.now()
        for delivery in self.sim.store.find("delivery", state="pending"):
            if len(self.tasks) >= _CONCURRENT:
                return
            if delivery["id"] in self.taken or delivery["not_before"] > now:
                continue
            self.taken.add(delivery["id"])
            task = asyncio.get_running_loop().create_task(self._send(clients, delivery))
            self.tasks.add(task)
            task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        self.sim.deliveries_wake.set()

    async def _send(self, clients: dict[bool, httpx.AsyncClient], delivery: Doc) -> None:
        try:
            hook = self.sim.store.get("hook", delivery["hook_id"])
            if hook is None:
                self.sim.store.remove("delivery", delivery)
                return
            await self._send_to(clients, hook, delivery)
        finally:
            self.taken.discard(delivery["id"])
            self.sim.store.commit()

    async def _send_to(self, clients: dict[bool, httpx.AsyncClient], hook: Doc, delivery: Doc) -> None:
        text = self.sim.store.read_text(f"delivery:{delivery['id']}") or "{}"
        body, content_type = encode(hook, text)
        headers = request_headers(hook, delivery, body, content_type)
        started = time.monotonic()
        client = clients[hook["config"].get("insecure_ssl") != "1"]
        outcome = await self._outcome(client, hook["config"]["url"], body, headers, delivery)
        # A reset in between has thrown both away, and their numbers may stand for new ones by now.
        if self.sim.store.get("delivery", delivery["id"]) is not delivery:
            return
        delivery |= {
            "state": "sent",
            "delivered_at": self.sim.clock.now(),
            "duration": round(time.monotonic() - started, 2),
            "status": outcome.status,
            "status_code": outcome.code,
            "url": hook["config"]["url"],
            "request_headers": headers,
            "response_headers": outcome.headers,
            "response": outcome.text[:_KEEP_RESPONSE],
        }
        self.sim.store.save("delivery", delivery)
        if self.sim.store.get("hook", hook["id"]) is not hook:
            return
        hook["last_response"] = {
            "code": outcome.code or None,
            "status": "active" if 200 <= outcome.code < 300 else "misconfigured",
            "message": outcome.status,
        }
        self.sim.store.save("hook", hook)

    async def _outcome(
        self, client: httpx.AsyncClient, url: str, body: bytes, headers: dict[str, str], delivery: Doc
    ) -> _Outcome:
        if delivery.get("lost"):
            return _Outcome(502, "failed to connect to host")
        if not is_loopback(url):
            return _Outcome(0, "failed to connect to host: only loopback targets are served here")
        try:
            timeout = float(self.sim.setting("delivery_timeout_s"))
            answer = await asyncio.wait_for(
                client.post(url, content=body, headers=headers, timeout=timeout), timeout
            )
        except (TimeoutError, httpx.TimeoutException):
            return _Outcome(504, "timed out")
        except (httpx.HTTPError, httpx.InvalidURL, OSError):
            return _Outcome(502, "failed to connect to host")
        good = 200 <= answer.status_code < 300
        status = "OK" if good else f"Invalid HTTP Response: {answer.status_code}"
        return _Outcome(answer.status_code, status, dict(answer.headers), answer.text)


def prune(sim: Simulator) -> None:
    """Forget deliveries that are older than the window."""
    oldest = sim.clock.now() - sim.setting("delivery_window_s")
    for delivery in sim.store.find("delivery", state="sent"):
        if delivery["delivered_at"] < oldest:
            sim.store.remove_text(f"delivery:{delivery['id']}")
            sim.store.remove("delivery", delivery)


def show(sim: Simulator, delivery: Doc, *, full: bool = False) -> Doc:
    """REST form; `full` adds request and response."""
    names = ("id", "guid", "redelivery", "duration", "status", "status_code", "event", "action")
    shown = {name: delivery[name] for name in (*names, "installation_id", "repository_id")}
    shown["delivered_at"] = sim.clock.iso(delivery["delivered_at"])
    shown["throttled_at"] = None
    if full:
        payload = json.loads(sim.store.read_text(f"delivery:{delivery['id']}") or "{}")
        headers = dict(delivery["request_headers"])
        if "X-Hub-Signature" in headers:
            headers |= {"X-Hub-Signature": f"sha1={MASK}", "X-Hub-Signature-256": f"sha256={MASK}"}
        shown["url"] = delivery["url"]
        shown["request"] = {"headers": headers, "payload": payload}
        shown["response"] = {"headers": delivery["response_headers"], "payload": delivery["response"]}
    return shown
