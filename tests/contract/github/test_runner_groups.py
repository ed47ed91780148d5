"""Runner groups of an organisation."""

from typing import Any

import httpx
import pytest
from contract.github.harness import Forge

GROUPS = "/orgs/acme/actions/runner-groups"


def repository_id(api: httpx.Client, name: str) -> int:
    return int(api.get(f"/repos/acme/{name}").json()["id"])


def create(api: httpx.Client, **body: object) -> Any:
    answer = api.post(GROUPS, json={"name": "gpu", **body})
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_an_organisation_starts_with_the_default_group_number_one(api: httpx.Client) -> None:
    (group,) = api.get(GROUPS).json()["runner_groups"]
    assert (group["id"], group["name"], group["default"]) == (1, "Default", True)


def test_a_group_of_selected_repositories_keeps_them(api: httpx.Client) -> None:
    wanted = [repository_id(api, "inference"), repository_id(api, "training")]
    group = create(api, visibility="selected", selected_repository_ids=wanted[:1])
    assert group["selected_repositories_url"].endswith(f"/runner-groups/{group['id']}/repositories")
    path = f"{GROUPS}/{group['id']}/repositories"
    assert api.put(f"{path}/{wanted[1]}").status_code == 204
    assert [repo["id"] for repo in api.get(path).json()["repositories"]] == wanted
    assert api.delete(f"{path}/{wanted[0]}").status_code == 204
    assert api.put(path, json={"selected_repository_ids": wanted[:1]}).status_code == 204
    assert [repo["id"] for repo in api.get(path).json()["repositories"]] == wanted[:1]


def test_a_change_touches_only_what_it_names(api: httpx.Client) -> None:
    group = create(api, visibility="private", allows_public_repositories=True)
    changed = api.patch(f"{GROUPS}/{group['id']}", json={"name": "gpu-2"}).json()
    assert changed == {**group, "name": "gpu-2"}


def test_a_deleted_group_is_gone_and_its_runners_are_in_the_default_one(api: httpx.Client) -> None:
    group = create(api)
    body = {"name": "r1", "runner_group_id": group["id"], "labels": ["gpu"]}
    api.post("/orgs/acme/actions/runners/generate-jitconfig", json=body)
    assert api.get(f"{GROUPS}/{group['id']}/runners").json()["total_count"] == 1
    assert api.delete(f"{GROUPS}/{group['id']}").status_code == 204
    assert api.get(f"{GROUPS}/{group['id']}").status_code == 404
    assert api.get(f"{GROUPS}/1/runners").json()["runners"][0]["name"] == "r1"


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ({}, 422, "missing required key: name"),
        ({"name": "default"}, 409, "already exists"),
        ({"name": "gpu", "visibility": "secret"}, 422, "visibility"),
        ({"name": "gpu", "selected_repository_ids": [1]}, 422, "selected_repository_ids"),
    ],
)
def test_a_wrong_group_is_refused_with_its_reason(
    api: httpx.Client, body: dict[str, object], status: int, text: str
) -> None:
    answer = api.post(GROUPS, json=body)
    assert answer.status_code == status
    assert text in answer.text


def test_the_default_group_cannot_be_deleted(api: httpx.Client) -> None:
    assert api.delete(f"{GROUPS}/1").status_code == 422


def test_a_free_organisation_has_only_its_default_group(api: httpx.Client) -> None:
    answer = api.post("/orgs/acme-free/actions/runner-groups", json={"name": "gpu"})
    assert answer.status_code == 403
    assert "plan" in answer.json()["message"]


def test_repositories_are_chosen_only_where_the_visibility_says_so(api: httpx.Client) -> None:
    group = create(api)
    assert (
        api.put(f"{GROUPS}/{group['id']}/repositories/{repository_id(api, 'inference')}").status_code == 409
    )


def test_the_list_can_be_narrowed_to_what_a_repository_may_use(api: httpx.Client) -> None:
    create(api, visibility="selected", selected_repository_ids=[repository_id(api, "training")])
    found = api.get(GROUPS, params={"visible_to_repository": "inference"}).json()["runner_groups"]
    assert [group["name"] for group in found] == ["Default"]


def test_a_token_without_the_scope_is_refused(forge: Forge) -> None:
    token = forge.sim("POST", "/tokens", {"scopes": ["repo"]})["token"]
    with forge.api(token) as api:
        answer = api.get(GROUPS)
        assert answer.status_code == 403
        assert answer.headers["x-accepted-oauth-scopes"] == "admin:org"


def test_an_outsider_does_not_learn_that_the_organisation_has_groups(forge: Forge) -> None:
    token = forge.sim("POST", "/tokens", {"login": "stranger"})["token"]
    with forge.api(token) as api:
        assert api.get(GROUPS).status_code == 404
