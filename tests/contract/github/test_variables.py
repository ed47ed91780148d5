"""Actions variables and secrets."""

import base64
from typing import Any

import httpx
import pytest
from nacl.public import PublicKey, SealedBox

BASES = ["/orgs/acme/actions", "/repos/acme/inference/actions"]


def seal(key: Any, text: str) -> str:
    box = SealedBox(PublicKey(base64.b64decode(key["key"])))
    return base64.b64encode(box.encrypt(text.encode())).decode()


@pytest.mark.parametrize("base", BASES)
def test_a_variable_is_made_read_changed_and_removed(api: httpx.Client, base: str) -> None:
    more = {"visibility": "all"} if "orgs" in base else {}
    assert api.post(f"{base}/variables", json={"name": "label", "value": "gpu", **more}).status_code == 201
    assert api.get(f"{base}/variables/LABEL").json()["value"] == "gpu"
    assert api.patch(f"{base}/variables/LABEL", json={"value": "a4500"}).status_code == 204
    assert api.get(f"{base}/variables").json()["variables"][0]["value"] == "a4500"
    assert api.delete(f"{base}/variables/LABEL").status_code == 204
    assert api.get(f"{base}/variables/LABEL").status_code == 404


@pytest.mark.parametrize("name", ["1st", "a-b", "GITHUB_X", ""])
def test_a_wrong_name_is_refused(api: httpx.Client, name: str) -> None:
    assert api.post(f"{BASES[1]}/variables", json={"name": name, "value": "x"}).status_code == 422


def test_a_variable_exists_only_once(api: httpx.Client) -> None:
    for status in (201, 409):
        answer = api.post(f"{BASES[1]}/variables", json={"name": "A", "value": "x"})
        assert answer.status_code == status


@pytest.mark.parametrize("base", BASES)
def test_a_secret_comes_sealed_and_never_leaves(api: httpx.Client, base: str) -> None:
    key = api.get(f"{base}/secrets/public-key").json()
    body = {"key_id": key["key_id"], "encrypted_value": seal(key, "planted-secret")}
    assert api.put(f"{base}/secrets/TOKEN", json=body).status_code == 201
    assert api.put(f"{base}/secrets/TOKEN", json=body).status_code == 204
    shown = api.get(f"{base}/secrets/TOKEN")
    assert shown.json()["name"] == "TOKEN"
    assert "planted-secret" not in shown.text
    assert "planted-secret" not in api.get(f"{base}/secrets").text


@pytest.mark.parametrize(
    "change", [{"key_id": "1"}, {"encrypted_value": "bm90IHNlYWxlZA=="}, {"encrypted_value": "%%%"}]
)
def test_a_secret_that_cannot_be_opened_is_refused(api: httpx.Client, change: dict[str, str]) -> None:
    key = api.get(f"{BASES[1]}/secrets/public-key").json()
    body = {"key_id": key["key_id"], "encrypted_value": seal(key, "x"), **change}
    assert api.put(f"{BASES[1]}/secrets/TOKEN", json=body).status_code == 422


def test_a_variable_of_the_organisation_is_given_to_selected_repositories(api: httpx.Client) -> None:
    number = api.get("/repos/acme/inference").json()["id"]
    body = {"name": "A", "value": "x", "visibility": "selected", "selected_repository_ids": []}
    api.post("/orgs/acme/actions/variables", json=body)
    path = "/orgs/acme/actions/variables/A/repositories"
    assert api.put(f"{path}/{number}").status_code == 204
    assert [repo["name"] for repo in api.get(path).json()["repositories"]] == ["inference"]
    assert api.put(path, json={"selected_repository_ids": []}).status_code == 204
    assert api.get(path).json()["total_count"] == 0
