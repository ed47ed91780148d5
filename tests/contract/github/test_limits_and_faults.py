"""Rate limits, conditional requests, and faults that tests switch on."""

import time
from typing import Any

import httpx
import pytest
from contract.github.harness import Forge

from localcloud.processes import wait_until

GROUPS = "/orgs/acme/actions/runner-groups"
JIT = "/orgs/acme/actions/runners/generate-jitconfig"
RUNNER = {"name": "r1", "runner_group_id": 1, "labels": ["gpu"]}


def test_every_answer_tells_what_is_left(api: httpx.Client) -> None:
    first, second = api.get(GROUPS).headers, api.get(GROUPS).headers
    assert first["x-ratelimit-limit"] == "5000"
    assert int(first["x-ratelimit-remaining"]) - int(second["x-ratelimit-remaining"]) == 1
    assert int(first["x-ratelimit-reset"]) > time.time()


def test_an_unchanged_thing_costs_nothing(api: httpx.Client) -> None:
    first = api.get(GROUPS)
    again = api.get(GROUPS, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["x-ratelimit-remaining"] == first.headers["x-ratelimit-remaining"]
    api.post(GROUPS, json={"name": "gpu"})
    assert api.get(GROUPS, headers={"If-None-Match": first.headers["etag"]}).status_code == 200


def test_a_used_up_hour_refuses_until_its_end(forge: Forge, api: httpx.Client) -> None:
    forge.sim("PATCH", "/settings", {"limit_core": 2})
    assert [api.get(GROUPS).status_code for _ in range(3)] == [200, 200, 403]
    refused = api.get(GROUPS)
    assert refused.json()["message"].startswith("API rate limit exceeded for user ID")
    assert refused.headers["x-ratelimit-remaining"] == "0"
    assert api.get("/rate_limit").json()["resources"]["core"]["remaining"] == 0
    forge.sim("POST", "/clock", {"advance_s": 3601})
    assert api.get(GROUPS).status_code == 200


def test_too_many_calls_in_a_minute_meet_the_secondary_limit(forge: Forge, api: httpx.Client) -> None:
    forge.sim("PATCH", "/settings", {"limit_points_per_minute": 10})
    answers = [api.post(JIT, json={**RUNNER, "name": f"r{number}"}) for number in range(3)]
    assert [answer.status_code for answer in answers] == [201, 201, 403]
    assert answers[2].headers["retry-after"] == "60"
    assert answers[2].json()["documentation_url"].endswith("secondary-rate-limits")
    forge.sim("POST", "/clock", {"advance_s": 61})
    assert api.post(JIT, json={**RUNNER, "name": "r9"}).status_code == 201


def test_content_has_a_limit_of_its_own(forge: Forge, api: httpx.Client) -> None:
    forge.sim("PATCH", "/settings", {"limit_content_per_minute": 1})
    path = "/repos/acme/inference/issues"
    assert [api.post(path, json={"title": "x"}).status_code for _ in range(2)] == [201, 403]


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("secondary_limit", 403),
        ("primary_limit", 403),
        ("token_expiry", 401),
        ("conflict", 409),
        ("busy", 422),
    ],
)
def test_a_known_fault_answers_as_github_does(
    forge: Forge, api: httpx.Client, kind: str, status: int
) -> None:
    forge.sim("POST", "/faults", {"kind": kind, "method": "GET", "path": "runner-groups", "times": 1})
    assert api.get("/orgs/acme").status_code == 200
    assert api.get(GROUPS).status_code == status
    assert forge.sim("GET", "/faults") == []


def test_a_fault_answers_anything_as_often_as_it_is_told(forge: Forge, api: httpx.Client) -> None:
    rule: dict[str, Any] = {"path": "jitconfig", "status": 503, "body": {"message": "no"}, "times": 2}
    forge.sim("POST", "/faults", rule | {"headers": {"Retry-After": "7"}})
    answers = [api.post(JIT, json=RUNNER) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [503, 503, 201]
    assert answers[0].headers["retry-after"] == "7"


def test_an_answer_lost_after_the_work_leaves_the_runner_behind(forge: Forge, api: httpx.Client) -> None:
    forge.sim("POST", "/faults", {"kind": "after", "path": "jitconfig", "status": 502, "times": 1})
    assert api.post(JIT, json=RUNNER).status_code == 502
    assert api.post(JIT, json=RUNNER).status_code == 409


def test_a_fault_can_be_only_slow(forge: Forge, api: httpx.Client) -> None:
    forge.sim("POST", "/faults", {"path": "runner-groups", "delay_s": 0.3})
    api.get(GROUPS)
    assert forge.sim("GET", "/log")[-1]["duration_s"] >= 0.3


def test_a_wrong_fault_names_all_that_is_wrong(forge: Forge) -> None:
    answer = httpx.post(
        f"{forge.url}/_sim/faults",
        json={"kind": "odd", "path": "(", "colour": 1},
        headers={"Authorization": f"Bearer {'sim-' + 's' * 32}"},
        trust_env=False,
    )
    assert answer.status_code == 422
    assert [text.split(":")[0] for text in answer.json()["errors"]] == ["colour", "kind", "path"]


def test_the_control_api_needs_its_token(forge: Forge) -> None:
    assert httpx.get(f"{forge.url}/_sim/log", trust_env=False).status_code == 401


def test_the_log_shows_calls_without_secrets(forge: Forge, api: httpx.Client) -> None:
    config = {"url": "http://127.0.0.1:9/hook", "secret": "planted-secret"}
    api.post("/orgs/acme/hooks", json={"config": config})
    log = forge.sim("GET", "/log")
    assert (log[-1]["method"], log[-1]["path"], log[-1]["status"]) == ("POST", "/orgs/acme/hooks", 201)
    assert "planted-secret" not in str(log)


def test_a_setting_that_does_not_exist_is_refused(forge: Forge) -> None:
    with pytest.raises(AssertionError, match="Unknown settings"):
        forge.sim("PATCH", "/settings", {"speed": 1})


def test_all_state_survives_a_kill(forge: Forge, api: httpx.Client) -> None:
    created = api.post(GROUPS, json={"name": "gpu"}).json()
    run = {
        "repository": "acme/inference",
        "workflow": "on: push\njobs: {a: {runs-on: x, steps: [{run: ls}]}}",
    }
    number = forge.sim("POST", "/runs", run)["id"]
    hook = {"config": {"url": "http://127.0.0.1:9/hook"}, "events": ["workflow_job"]}
    hook_id = api.post("/orgs/acme/hooks", json=hook).json()["id"]
    forge.sim("POST", "/clock", {"advance_s": 100})
    forge.kill()
    forge.start()
    assert api.get(f"{GROUPS}/{created['id']}").json() == created
    jobs = api.get(f"/repos/acme/inference/actions/runs/{number}/jobs").json()["jobs"]
    assert jobs[0]["status"] == "queued"
    assert forge.sim("GET", "/clock")["offset_s"] == 100
    # The ping was durable before the hook's creation was answered, so it is sent now if not before.
    assert wait_until(lambda: bool(api.get(f"/orgs/acme/hooks/{hook_id}/deliveries").json()), 30)
