"""Every way in which a call of GitLab's API fails, and what it asks for; on loopback."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from unit.autoscaler.forges.loopback import Loopback, Reply, serving

from shadow_autoscaler.adapters.gitlab import GitLabForge, RunnerToken, system_id_of
from shadow_autoscaler.core.events import Removal, RerunOutcome
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError
from shadow_autoscaler.core.jobs import ForgeKind, JobKey

TOKEN = "glpat-secretsecretsecret"
KEY = JobKey(ForgeKind.GITLAB, "acme/jobs", 5)


def forge(server: Loopback, **change: Any) -> GitLabForge:
    given: dict[str, Any] = {
        "token": lambda: TOKEN,
        "projects": ("acme/jobs",),
        "runner_tokens": {"p1": RunnerToken(lambda: "glrt-secretsecretsecret", 3)},
        "url": server.url,
        "timeout_s": 5.0,
    }
    return GitLabForge(**given | change)


def failing(call: Callable[[], object]) -> Failure:
    with pytest.raises(PortError) as caught:
        call()
    assert "secretsecret" not in str(caught.value)
    assert len(caught.value.failure.text) <= 300
    return caught.value.failure


@pytest.mark.parametrize(
    ("reply", "reading", "writing", "wait"),
    [
        (Reply(400), FailureKind.CONFIG, FailureKind.CONFIG, None),
        (Reply(401), FailureKind.AUTH, FailureKind.AUTH, None),
        (Reply(403), FailureKind.REFUSED, FailureKind.REFUSED, None),
        (Reply(405), FailureKind.REFUSED, FailureKind.REFUSED, None),
        (Reply(409), FailureKind.CONFLICT, FailureKind.CONFLICT, None),
        (Reply(412), FailureKind.REFUSED, FailureKind.REFUSED, None),
        (Reply(422), FailureKind.CONFIG, FailureKind.CONFIG, None),
        (Reply(429), FailureKind.THROTTLED, FailureKind.THROTTLED, 60.0),
        (Reply(429, headers={"Retry-After": "9"}), FailureKind.THROTTLED, FailureKind.THROTTLED, 9.0),
        (Reply(500), FailureKind.TRANSIENT, FailureKind.UNKNOWN_OUTCOME, None),
        (Reply(502, b"<html>"), FailureKind.TRANSIENT, FailureKind.UNKNOWN_OUTCOME, None),
        (Reply(cut=True), FailureKind.TRANSIENT, FailureKind.UNKNOWN_OUTCOME, None),
    ],
)
def test_a_call_that_fails(
    reply: Reply, reading: FailureKind, writing: FailureKind, wait: float | None
) -> None:
    with serving(lambda *_: reply) as server:
        own = forge(server)
        found = failing(own.jobs)
        assert (found.kind, found.retry_after_s) == (reading, wait)
        assert len(server.asked) == 1
        own.close()

    def answer(method: str, _: str, __: bytes) -> Reply:
        return Reply() if method == "GET" else reply

    with serving(answer) as server:
        own = forge(server)
        assert failing(lambda: own.deregister("gpu-p1-1", None)).kind is writing
        own.close()


def test_a_server_that_is_not_there_has_got_nothing() -> None:
    with serving(lambda *_: Reply()) as server:
        own = forge(server, runner_tokens={"p1": RunnerToken(lambda: "glrt-x")})
    failure = failing(lambda: own.deregister("gpu-p1-1", None))
    assert failure.kind is FailureKind.TRANSIENT
    assert "POST /runners/verify" in failure.text


@pytest.mark.parametrize("body", [b"<html>", b"{}", b"5", b'[{"id": "x"}]', b"[null]"])
def test_an_answer_that_is_none_of_gitlabs_is_no_list(body: bytes) -> None:
    with serving(lambda *_: Reply(200, body)) as server:
        own = forge(server)
        assert failing(own.jobs).kind is FailureKind.TRANSIENT
        own.close()


def job(**change: Any) -> dict[str, Any]:
    return {"id": 5, "status": "failed", "name": "test", "ref": "main", "pipeline": {"id": 9}, **change}


def dump(value: object) -> Reply:
    return Reply(200, json.dumps(value).encode())


@pytest.mark.parametrize(("source", "fork"), [(1, False), (2, True), (None, True)])
def test_a_merge_request_from_another_project_is_a_fork_and_is_asked_about_once(
    source: int | None, fork: bool
) -> None:
    def answer(_: str, path: str, __: bytes) -> Reply:
        if "/merge_requests/7" in path:
            return dump({"source_branch": "topic", "source_project_id": source, "target_project_id": 1})
        return dump(job(ref="refs/merge-requests/7/merge"))

    with serving(answer) as server:
        own = forge(server)
        for _ in range(2):
            facts = own.job(KEY)
            assert facts is not None
            assert (facts.ref, facts.fork, facts.known_origin) == ("topic", fork, True)
        assert len([path for path in server.asked if "merge_requests" in path]) == 1
        own.close()


def test_a_runner_without_an_id_is_asked_for_it_once() -> None:
    def answer(_: str, path: str, body: bytes) -> Reply:
        if path.endswith("/runners/verify"):
            assert json.loads(body) == {"token": "glrt-x"}
            return dump({"id": 44})
        return Reply(404, b"{}") if path.endswith("/runners/managers") else Reply()

    with serving(answer) as server:
        own = forge(server, runner_tokens={"p1": RunnerToken(lambda: "glrt-x")})
        for _ in range(2):
            assert own.deregister("gpu-p1-1", None) is Removal.GONE
        verified = [path for path in server.asked if "verify" in path]
        assert len(verified) == 1
        assert any("/runners/44/jobs" in path for path in server.asked)
        own.close()


def test_a_job_on_another_machine_of_the_runner_keeps_none() -> None:
    """An older GitLab ignores `system_id` and lists what all machines run."""

    def answer(method: str, path: str, _: bytes) -> Reply:
        if method == "DELETE":
            return Reply(204, b"")
        busy = job(status="running", runner_manager={"system_id": system_id_of("gpu-p1-2")})
        return dump([busy] if "running" in path else [])

    with serving(answer) as server:
        own = forge(server)
        assert own.deregister("gpu-p1-1", None) is Removal.GONE
        assert own.deregister("gpu-p1-2", None) is Removal.BUSY
        own.close()


def test_a_retry_that_gitlab_refuses_is_refused() -> None:
    def answer(method: str, path: str, _: bytes) -> Reply:
        if method == "POST":
            return Reply(403, b'{"message": "403 Forbidden - Job is not retryable"}')
        return dump([job()] if "/pipelines/" in path else job())

    with serving(answer) as server:
        own = forge(server)
        assert own.rerun(KEY, 9) is RerunOutcome.REFUSED
        own.close()


def test_the_next_page_is_asked_at_our_address_whatever_the_server_calls_itself() -> None:
    def answer(_: str, path: str, __: bytes) -> Reply:
        if "id_before" in path:
            return dump([job(id=1, status="pending")])
        link = '<https://internal.example/api/v4/projects/1/jobs?id_before=2&scope[]=pending>; rel="next"'
        return Reply(200, json.dumps([job(id=2, status="pending")]).encode(), {"Link": link})

    with serving(answer) as server:
        own = forge(server)
        assert [facts.key.job_id for facts in own.jobs()] == [2, 1]
        assert len(server.asked) == 2
        own.close()


def test_a_system_id_has_the_form_that_gitlab_runner_takes() -> None:
    found = {system_id_of(f"gpu-p1-{number}") for number in range(2000)}
    assert len(found) == 2000
    assert all(len(one) == 14 and one.startswith("r_") and one[2:].isalnum() for one in found)
