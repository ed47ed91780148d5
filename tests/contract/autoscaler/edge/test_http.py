"""The server over real HTTP: §4 cases 1, 2 and 10, the VM protocol, health and metrics."""

import hashlib
import hmac
import json
import logging
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from autoscaler_site.outside import HOOK, KEY, Outside, body_of
from autoscaler_site.site import site, write

from shadow_autoscaler.adapters.sqlite_store import SqliteStore
from shadow_autoscaler.core.events import JobSeen
from shadow_autoscaler.core.faults import Failure, FailureKind
from shadow_autoscaler.core.jobs import ForgeKind, JobFacts, JobKey, JobStatus
from shadow_autoscaler.edge.serve import Running
from shadow_autoscaler.runtime.tickets import ticket


def queued(number: int = 5001) -> bytes:
    key = JobKey(ForgeKind.GITHUB, "acme/models", number)
    facts = JobFacts(key, JobStatus.QUEUED, "train", ("self-hosted", "shadow-gpu"), 900, 1e10)
    body = body_of(JobSeen(facts))
    assert body is not None
    return body


def metric(outside: Outside, name: str, **labels: str) -> float:
    """Return a metric's value."""
    wanted = "{" + ",".join(f'{key}="{value}"' for key, value in sorted(labels.items())) + "}"
    text = outside.http.get(f"{outside.url}/metrics").text
    lines = [line for line in text.splitlines() if line.startswith(f"shadow_autoscaler_{name}{wanted}")]
    return float(lines[0].rpartition(" ")[2]) if lines else 0.0


def test_a_job_goes_its_whole_way_over_http(server: Running, outside: Outside) -> None:
    key = outside.queue(5001)
    outside.until(lambda: outside.done(key) and outside.empty())
    assert outside.github.truth()[key].conclusion == "success"
    assert not outside.refused
    outside.until(lambda: metric(outside, "cost_eur_total", market="spot", pool="rtx2000") > 0)
    assert metric(outside, "queue_seconds_count", pool="rtx2000") == 1
    assert metric(outside, "boot_seconds_count", market="spot", pool="rtx2000") == 1
    assert metric(outside, "pickup_seconds_count", pool="rtx2000") == 1
    assert metric(outside, "create_seconds_count", pool="rtx2000") == 1
    assert metric(outside, "vms_ended_total", cause="job-done", market="spot", pool="rtx2000") == 1
    assert server.machine.engine.active


def test_case_1_the_same_delivery_from_several_connections_makes_one_vm(
    server: Running, outside: Outside
) -> None:
    outside.guests = False
    with outside.lock:
        outside.hooks = False
        key = outside.queue(5001)
    body, barrier = queued(), threading.Barrier(3)

    def send(_: int) -> int:
        with httpx.Client() as client:
            barrier.wait(10)
            return outside.post(body, guid="D-1", client=client).status_code

    with ThreadPoolExecutor(3) as senders:
        assert list(senders.map(send, range(3))) == [202, 202, 202]
    outside.until(outside.cloud.truth)
    with outside.lock:
        outside.hooks = True
        outside.github.cancel(key)
    outside.until(outside.empty)
    again, other = outside.post(body, guid="D-1"), outside.post(body, guid="D-2")
    assert (again.status_code, again.json()["result"]) == (202, "already handled")
    assert other.status_code == 202
    outside.until(lambda: not server.machine.engine.store.inbox())
    assert outside.faults.calls["cloud.create"] == 1
    assert not outside.github.minted


def test_case_1_a_delivery_that_could_not_be_written_is_asked_for_again(
    server: Running, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = server.machine.engine.store
    real = store.accept

    def full(_: object) -> None:
        raise_full()

    monkeypatch.setattr(store, "accept", full)
    answer = outside.post(queued(), guid="D-1")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    monkeypatch.setattr(store, "accept", real)
    assert outside.post(queued(), guid="D-1").json()["result"] == "accepted"


def raise_full() -> None:
    """Fail as a full disk does."""
    from shadow_autoscaler.core.faults import PortError  # noqa: PLC0415

    raise PortError(Failure(FailureKind.TRANSIENT, "disk full"))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"X-Hub-Signature-256": "sha256=" + "0" * 64}, 401),
        ({"X-Hub-Signature-256": ""}, 401),
        ({"X-Hub-Signature-256": "sha1=" + hmac.new(HOOK.encode(), b"x", hashlib.sha1).hexdigest()}, 401),
        ({"X-GitHub-Event": "ping"}, 200),
        ({"X-GitHub-Event": "push"}, 202),
    ],
)
def test_case_2_over_http(
    server: Running, outside: Outside, caplog: pytest.LogCaptureFixture, headers: dict[str, str], status: int
) -> None:
    body = queued()
    with caplog.at_level(logging.DEBUG):
        assert outside.post(body, **headers).status_code == status
    assert hmac.new(HOOK.encode(), body, hashlib.sha256).hexdigest() not in caplog.text
    assert not server.machine.engine.store.inbox()


@pytest.mark.parametrize("body", [b"\xef\xbb\xbf{}", b"\xff", b"[]"])
def test_case_2_malformed_bodies_are_bad_requests(server: Running, outside: Outside, body: bytes) -> None:
    answer = outside.post(body)
    assert answer.status_code == 400
    assert answer.json()["remedy"]
    assert not server.machine.engine.store.inbox()


def test_case_2_large_bodies_are_taken_whole_or_refused_clearly(server: Running, outside: Outside) -> None:
    padded = json.loads(queued()) | {"padding": "x" * 300 * 1024}
    assert outside.post(json.dumps(padded).encode()).status_code == 202
    too_large = outside.post(b'{"padding": "' + b"x" * (25 * 1024 * 1024) + b'"}')
    assert too_large.status_code == 413
    assert metric(outside, "webhooks_total", forge="github", result="too-large") == 1


def test_case_2_a_body_without_a_length_is_cut_off_at_the_limit(server: Running, outside: Outside) -> None:
    def endless() -> object:
        for _ in range(30):
            yield b"x" * 1024 * 1024

    answer = outside.http.post(f"{outside.url}/webhook/github", content=endless())  # type: ignore[arg-type]
    assert answer.status_code == 413


def test_case_2_the_former_secret_is_counted(server: Running, outside: Outside) -> None:
    secrets = server.machine.engine.store._path.parent / "secrets"  # type: ignore[attr-defined]
    (secrets / "hook").write_text("n" * 40)
    assert outside.post(queued()).status_code == 401
    (secrets / "hook.previous").write_text(HOOK)
    assert outside.post(queued()).status_code == 202
    assert metric(outside, "webhook_old_secret_total", forge="github") == 1


def test_case_10_a_burst_beyond_the_ceiling_is_served_in_turn(server: Running, outside: Outside) -> None:
    most = outside.counted()
    keys = [outside.queue(6000 + number, 0.02) for number in range(30)]
    outside.until(lambda: outside.done(*keys) and outside.empty())
    assert most() == 3
    assert all(outside.github.starts[key] == 1 for key in keys)


def test_lost_webhooks_are_made_good_by_looking(server: Running, outside: Outside) -> None:
    outside.hooks = False
    key = outside.queue(5001)
    outside.until(lambda: outside.done(key) and outside.empty())
    assert outside.github.starts[key] == 1


def test_health(server: Running, outside: Outside) -> None:
    assert outside.http.get(f"{outside.url}/healthz").json() == {"status": "alive"}
    outside.until(lambda: server.machine.engine.active)
    assert outside.http.get(f"{outside.url}/readyz").json() == {"status": "ready", "role": "decides"}


def test_readiness_ends_with_the_store(
    server: Running, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server.machine.engine.store, "inbox", lambda _limit=1: raise_full())
    answer = outside.http.get(f"{outside.url}/readyz")
    assert (answer.status_code, answer.json()["reason"]) == (503, "disk full")


def test_readiness_says_which_rows_cannot_be_read_and_webhooks_are_taken_in(
    tmp_path: Path, outside: Outside
) -> None:
    file = write(tmp_path)
    SqliteStore(tmp_path / "autoscaler.db").close()
    with closing(sqlite3.connect(tmp_path / "autoscaler.db")) as db, db:
        db.execute("INSERT INTO rows VALUES ('vm', 'gpu-rtx2000-x00001', '{}')")
    with site(file, outside):
        outside.until(lambda: "refuses" in outside.http.get(f"{outside.url}/readyz").text)
        answer = outside.http.get(f"{outside.url}/readyz")
        assert answer.status_code == 503
        assert "vm gpu-rtx2000-x00001: " in answer.json()["reason"]
        assert "shadow-autoscaler repair" in answer.json()["reason"]
        assert outside.http.get(f"{outside.url}/healthz").status_code == 200
        assert outside.post(queued()).status_code == 202


def until_refused(answers: Iterable[httpx.Response]) -> Iterator[httpx.Response]:
    """Yield answers up to the first refusal, that one included."""
    for answer in answers:
        yield answer
        if answer.status_code != 204:
            return


def test_a_vm_that_calls_too_often_is_told_when_to_call_again(server: Running, outside: Outside) -> None:
    outside.guests = False
    outside.queue(5001)
    outside.until(outside.cloud.truth)
    ((server_id, made),) = outside.cloud.truth().items()
    vm = made.marks["vm"]
    outside.until(lambda: server.machine.engine.read(lambda state: state.vms[vm].server_id))
    headers = {"Authorization": f"Bearer {ticket(KEY, vm)}"}
    url = f"{outside.url}/vm/v1/{vm}/status"
    report = {"server_id": server_id, "phase": "docker", "status": "ok"}
    calls = (outside.http.post(url, headers=headers, json=report) for _ in range(1000))
    answers = {answer.status_code: answer for answer in until_refused(calls)}
    assert set(answers) == {204, 429}
    assert 1 <= int(answers[429].headers["retry-after"]) <= 2
    assert "calls too often" in answers[429].json()["error"]
    assert metric(outside, "vm_calls_throttled_total", call="status") >= 1


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/webhook/github"),
        ("POST", "/webhook/gitlab"),
        ("POST", "/vm/v1/gpu-rtx2000-1/status"),
        ("POST", "/vm/v1/gpu-rtx2000-1/config"),
        ("POST", "/vm/v1/gpu-rtx2000-1/reclaim"),
        ("GET", "/status.json"),
        ("GET", "/live"),
    ],
)
def test_without_a_secret_nothing_is_written_or_shown(
    server: Running, outside: Outside, method: str, path: str
) -> None:
    answer = outside.http.request(method, f"{outside.url}{path}", content=b'{"server_id": "x"}')
    assert answer.status_code in {401, 404}
    assert not server.machine.engine.store.inbox()


def test_no_other_route_takes_anything(server: Running, outside: Outside) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        for path in ("/", "/status.json", "/metrics", "/healthz", "/live", "/vm/v1/x"):
            assert outside.http.request(method, f"{outside.url}{path}").status_code in {404, 405}


def test_a_graceful_end_writes_what_was_answered(server: Running, outside: Outside) -> None:
    outside.hooks = False
    with ThreadPoolExecutor(8) as senders:
        statuses = list(senders.map(lambda n: outside.post(queued(7000 + n)).status_code, range(40)))
    server.web.should_exit = True
    assert statuses == [202] * 40
    outside.until(lambda: not server.machine.engine.store.inbox())
    known = server.machine.engine.store.load().jobs
    assert {key.job_id for key in known} >= {7000 + number for number in range(40)}
