"""Registration, listing and removal of self-hosted runners."""

import base64
import json
from typing import Any

import httpx
import pytest
from contract.github.harness import Forge

RUNNERS = "/orgs/acme/actions/runners"
JIT = f"{RUNNERS}/generate-jitconfig"
GOOD: dict[str, object] = {"name": "r1", "runner_group_id": 1, "labels": ["self-hosted", "GPU"]}


def register(api: httpx.Client, **change: object) -> Any:
    answer = api.post(JIT, json={**GOOD, **change})
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_a_jit_configuration_registers_an_offline_ephemeral_runner_with_exactly_its_labels(
    api: httpx.Client,
) -> None:
    made = register(api)
    runner = made["runner"]
    assert (runner["status"], runner["busy"], runner["ephemeral"]) == ("offline", False, True)
    assert [(label["name"], label["type"]) for label in runner["labels"]] == [
        ("self-hosted", "read-only"),
        ("GPU", "custom"),
    ]
    files = json.loads(base64.b64decode(made["encoded_jit_config"]))
    assert sorted(files) == [".credentials", ".credentials_rsaparams", ".runner"]
    assert api.get(f"{RUNNERS}/{runner['id']}").json() == runner


def test_a_repository_has_runners_of_its_own(api: httpx.Client) -> None:
    base = "/repos/acme/inference/actions/runners"
    assert api.post(f"{base}/generate-jitconfig", json=GOOD).status_code == 201
    assert api.get(base).json()["total_count"] == 1
    assert api.get(RUNNERS).json()["total_count"] == 0


@pytest.mark.parametrize("missing", ["name", "runner_group_id", "labels"])
def test_a_missing_key_is_named(api: httpx.Client, missing: str) -> None:
    answer = api.post(JIT, json={name: value for name, value in GOOD.items() if name != missing})
    assert answer.status_code == 422
    assert f"object is missing required key: {missing}" in answer.json()["message"]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"runner_group_id": 2}, 403),
        ({"runner_group_id": 99}, 404),
        ({"labels": []}, 422),
        ({"labels": [f"l{number}" for number in range(101)]}, 422),
        ({"labels": "gpu"}, 422),
        ({"name": 5}, 422),
    ],
)
def test_what_github_refuses_is_refused(api: httpx.Client, change: dict[str, object], status: int) -> None:
    assert api.post(JIT, json={**GOOD, **change}).status_code == status


def test_a_name_is_taken_only_once(api: httpx.Client) -> None:
    register(api)
    answer = api.post(JIT, json={**GOOD, "name": "R1"})
    assert answer.status_code == 409
    assert answer.json()["message"].startswith("Already exists - A runner with the name")


def test_a_full_group_takes_no_more(forge: Forge, api: httpx.Client) -> None:
    forge.sim("PATCH", "/settings", {"max_runners_per_group": 1})
    register(api)
    answer = api.post(JIT, json={**GOOD, "name": "r2"})
    assert answer.status_code == 422
    assert "Runner group 1 has reached max limit of 1 runners" in answer.json()["message"]


def test_the_list_has_pages_and_a_name_filter(api: httpx.Client) -> None:
    for number in range(5):
        register(api, name=f"r{number}")
    first = api.get(RUNNERS, params={"per_page": 2})
    assert first.json()["total_count"] == 5
    assert [runner["name"] for runner in first.json()["runners"]] == ["r0", "r1"]
    last = httpx.get(first.links["last"]["url"], headers=api.headers, trust_env=False)
    assert [runner["name"] for runner in last.json()["runners"]] == ["r4"]
    assert "next" not in last.links
    assert api.get(RUNNERS, params={"name": "r3"}).json()["total_count"] == 1


def test_a_removed_runner_is_gone(api: httpx.Client) -> None:
    number = register(api)["runner"]["id"]
    assert api.delete(f"{RUNNERS}/{number}").status_code == 204
    assert api.delete(f"{RUNNERS}/{number}").status_code == 404


def test_labels_can_be_added_replaced_and_removed_but_not_the_read_only_ones(api: httpx.Client) -> None:
    path = f"{RUNNERS}/{register(api)['runner']['id']}/labels"
    names = [label["name"] for label in api.post(path, json={"labels": ["a", "b"]}).json()["labels"]]
    assert names == ["self-hosted", "GPU", "a", "b"]
    assert api.delete(f"{path}/A").json()["total_count"] == 3
    assert api.delete(f"{path}/self-hosted").status_code == 422
    assert api.delete(f"{path}/nothing").status_code == 404
    assert [item["name"] for item in api.put(path, json={"labels": ["c"]}).json()["labels"]] == [
        "self-hosted",
        "c",
    ]
    assert api.delete(path).json()["total_count"] == 1


def test_offline_ephemeral_runners_are_forgotten_after_a_day_and_others_after_two_weeks(
    forge: Forge, api: httpx.Client
) -> None:
    register(api)
    token = api.post(f"{RUNNERS}/registration-token").json()["token"]
    body = {"token": token, "name": "classic", "labels": ["gpu"]}
    assert httpx.post(f"{forge.url}/_runner/register", json=body, trust_env=False).status_code == 200
    forge.sim("POST", "/clock", {"advance_s": 25 * 3600})
    assert [runner["name"] for runner in api.get(RUNNERS).json()["runners"]] == ["classic"]
    forge.sim("POST", "/clock", {"advance_s": 14 * 24 * 3600})
    assert api.get(RUNNERS).json()["total_count"] == 0


def test_a_registration_token_ends_after_an_hour(forge: Forge, api: httpx.Client) -> None:
    token = api.post(f"{RUNNERS}/registration-token").json()["token"]
    forge.sim("POST", "/clock", {"advance_s": 3601})
    body = {"token": token, "name": "late", "labels": ["gpu"]}
    assert httpx.post(f"{forge.url}/_runner/register", json=body, trust_env=False).status_code == 404


def test_registrations_count_in_a_bucket_of_their_own(api: httpx.Client) -> None:
    answer = api.post(JIT, json=GOOD)
    assert answer.headers["x-ratelimit-resource"] == "actions_runner_registration"
    assert answer.headers["x-ratelimit-limit"] == "10000"
