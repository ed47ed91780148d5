"""Cloud, forge and VMs in real time: the fakes behind one lock, and guests that call home."""

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx

from shadow_autoscaler.core.events import Event, JobSeen, RunCompleted
from shadow_autoscaler.core.jobs import ForgeKind, JobFacts, JobKey, JobStatus
from shadow_autoscaler.core.machines import Server
from shadow_autoscaler.runtime import tickets
from shadow_autoscaler.testing.clock import VirtualClock
from shadow_autoscaler.testing.cloud import CloudTraits, FakeCloud
from shadow_autoscaler.testing.faults import FaultPlan
from shadow_autoscaler.testing.github import FakeGitHub

KEY, HOOK, STATUS = "k" * 40, "h" * 40, "s" * 40
LABELS = ("self-hosted", "shadow-gpu")
_ACTIONS = {JobStatus.QUEUED: "queued", JobStatus.RUNNING: "in_progress", JobStatus.DONE: "completed"}


class RealClock(VirtualClock):
    """Virtual time that follows the wall."""

    def now(self) -> float:
        """Return the time of day."""
        return time.time()


@dataclass
class Outside:
    """The world around a server. Webhooks are sent over HTTP, signed, as GitHub sends them."""

    url: str = ""
    """Where the server answers; a restarted one may have moved."""
    faults: FaultPlan = field(default_factory=FaultPlan)
    hooks: bool = True
    """Whether GitHub's webhooks get through."""
    guests: bool = True
    """Whether VMs boot and call."""
    refused: list[int] = field(default_factory=list)
    """Statuses of webhooks that were not taken."""

    def __post_init__(self) -> None:
        self.lock = threading.RLock()
        self.clock = RealClock(time.time())
        quick = CloudTraits(build_s=(0.05, 0.1), delete_s=(0.02, 0.05))
        self.cloud = FakeCloud(self.clock, self.faults, quick)
        self.github = FakeGitHub(self.clock, self.faults)
        self.github.deliver = self._deliver
        self.cloud.on_active = self._boot
        self.sent = 0
        self._pool: list[threading.Thread] = []
        self._stop = threading.Event()
        self.http = httpx.Client(timeout=30)
        self._run(self._time)

    def close(self) -> None:
        """Stop time and wait for everybody."""
        self._stop.set()
        for thread in list(self._pool):
            thread.join(30)
        self.http.close()

    def locked(self, port: Any) -> Any:
        """Return a port that one thread at a time may use."""
        return _Locked(port, self.lock)

    def queue(self, number: int, seconds: float = 0.2, labels: tuple[str, ...] = LABELS) -> JobKey:
        """Have a job wait at GitHub."""
        key = JobKey(ForgeKind.GITHUB, "acme/models", number)
        facts = JobFacts(key, JobStatus.QUEUED, "train", labels, 900 + number, time.time())
        with self.lock:
            return self.github.submit(facts, seconds)

    def until(self, condition: Callable[[], Any], seconds: float = 60) -> None:
        """Wait for a condition."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with self.lock:
                if condition():
                    return
            self._stop.wait(0.02)
        raise AssertionError("it did not come true in time")

    def done(self, *keys: JobKey) -> bool:
        """Whether jobs have ended."""
        return all(self.github.truth()[key].status is JobStatus.DONE for key in keys)

    def empty(self) -> bool:
        """Whether nothing of ours is left, anywhere."""
        return not (self.cloud.truth() or self.cloud.remains() or self.github.registrations())

    def counted(self) -> Callable[[], int]:
        """Count servers from now on; returns what tells how many there were at most at a time."""
        most, boot = [0], self.cloud.on_active

        def watch(server: Any) -> None:
            most.append(len(self.cloud.truth()))
            boot(server)

        self.cloud.on_active = watch
        return lambda: max(most)

    def post(
        self,
        body: bytes,
        event: str = "workflow_job",
        guid: str = "",
        client: httpx.Client | None = None,
        **headers: str,
    ) -> httpx.Response:
        """Send a signed webhook."""
        self.sent += 1
        signature = hmac.new(HOOK.encode(), body, hashlib.sha256).hexdigest()
        known = {
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": guid or f"guid-{self.sent}",
            "X-Hub-Signature-256": f"sha256={signature}",
            "Content-Type": "application/json",
        }
        return (client or self.http).post(f"{self.url}/webhook/github", content=body, headers=known | headers)

    def _deliver(self, event: Event) -> bool:
        if not self.hooks:
            return False
        payload = body_of(event)
        if payload is not None:
            name = "workflow_job" if isinstance(event, JobSeen) else "workflow_run"
            self._run(lambda: self._send(name, payload))
        return True

    def _send(self, name: str, payload: bytes) -> None:
        try:
            status = self.post(payload, name).status_code
        except httpx.HTTPError:
            status = 0
        if status != 202:
            self.refused.append(status)

    def _boot(self, server: Server) -> None:
        if self.guests:
            self._run(lambda: self._guest(server))

    def _guest(self, server: Server) -> None:
        """Boot, register, run one job, report: through restarts of the server."""
        report = {"server_id": server.server_id, "phase": "healthy", "status": "ok"}
        self._call(server, "status", report)
        config = self._call(server, "config", {"server_id": server.server_id})
        if config:
            with self.lock:
                self.github.connect(config, config["runner_name"], lambda ran: self._ended(server, ran))

    def _ended(self, server: Server, ran: bool) -> None:
        report = {"server_id": server.server_id, "phase": "ended", "status": "ok" if ran else "failed"}
        self._run(lambda: self._call(server, "status", report | {"at": time.time()}))

    def _call(self, server: Server, name: str, body: dict[str, Any]) -> dict[str, str] | None:
        vm = server.marks["vm"]
        bearer = {"Authorization": f"Bearer {tickets.ticket(KEY, vm)}"}
        while not self._stop.is_set() and server.server_id in self.cloud.truth():
            try:
                answer = self.http.post(f"{self.url}/vm/v1/{vm}/{name}", json=body, headers=bearer)
            except httpx.HTTPError:
                self._stop.wait(0.05)
                continue
            if answer.status_code not in {202, 503}:
                return dict(answer.json()) if answer.status_code == 200 else None
            self._stop.wait(0.1)
        return None

    def _time(self) -> None:
        while not self._stop.wait(0.01):
            with self.lock:
                self.clock.advance(max(0.0, time.time() - self.clock.true))

    def _run(self, action: Callable[[], Any]) -> None:
        thread = threading.Thread(target=action, daemon=True)
        self._pool.append(thread)
        thread.start()


class _Locked:
    def __init__(self, port: Any, lock: threading.RLock) -> None:  # type: ignore[valid-type]
        self._port, self._lock = port, lock

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not callable(found):
            return found

        def call(*values: Any, **named: Any) -> Any:
            with self._lock:
                return found(*values, **named)

        return call


def body_of(event: Event) -> bytes | None:
    """Return the webhook that GitHub would send for an event."""
    repository = {"full_name": "acme/models", "private": True}
    if isinstance(event, RunCompleted):
        run = {"id": event.run_id, "run_attempt": event.attempt, "repository": repository}
        run |= {"status": "completed", "conclusion": "success", "head_branch": "main"}
        return json.dumps({"action": "completed", "workflow_run": run, "repository": repository}).encode()
    return _job_body(event.facts, repository) if isinstance(event, JobSeen) else None


def _job_body(facts: JobFacts, repository: dict[str, Any]) -> bytes:
    job = {
        "id": facts.key.job_id,
        "run_id": facts.run_id,
        "run_attempt": facts.key.attempt,
        "name": facts.name,
        "status": _ACTIONS[facts.status],
        "conclusion": facts.conclusion or None,
        "labels": list(facts.labels),
        "runner_id": facts.runner_id,
        "runner_name": facts.runner_name or None,
        "created_at": _iso(facts.queued_at),
        "started_at": _iso(facts.started_at or facts.queued_at),
        "completed_at": _iso(facts.finished_at),
        "head_branch": "main",
        "html_url": f"https://github.example/acme/models/actions/runs/{facts.run_id}",
    }
    action = _ACTIONS[facts.status]
    return json.dumps({"action": action, "workflow_job": job, "repository": repository}).encode()


def _iso(at: float | None) -> str | None:
    return None if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"


def gateway_event(body: bytes, headers: dict[str, str]) -> dict[str, Any]:
    """Return a webhook as an API gateway hands it to a function: base64 and folded header names."""
    return {
        "version": "2.0",
        "rawPath": "/webhook/github",
        "headers": {name.lower(): value for name, value in headers.items()},
        "requestContext": {"http": {"method": "POST", "path": "/webhook/github", "sourceIp": "192.0.2.1"}},
        "body": base64.b64encode(body).decode(),
        "isBase64Encoded": True,
    }
