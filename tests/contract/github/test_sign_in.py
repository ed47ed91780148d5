"""Who may call what: personal tokens, app JWTs, installation tokens."""

import time
from typing import Any

import httpx
import jwt
import pytest
from contract.github.harness import Forge

PERMISSIONS = {"organization_self_hosted_runners": "write", "actions": "read"}


@pytest.fixture
def app(forge: Forge) -> Any:
    return forge.sim("POST", "/apps", {"name": "runners", "permissions": PERMISSIONS})


@pytest.fixture
def installation(forge: Forge, app: Any) -> Any:
    return forge.sim("POST", "/installations", {"app_id": app["id"], "account": "acme"})


def sign(app: Any, **change: object) -> str:
    now = int(time.time())
    claims = {"iat": now - 60, "exp": now + 540, "iss": app["client_id"], **change}
    return jwt.encode(
        {name: value for name, value in claims.items() if value is not None}, app["pem"], "RS256"
    )


def token_of(forge: Forge, app: Any, installation: Any, **body: object) -> Any:
    with forge.api(sign(app)) as api:
        answer = api.post(f"/app/installations/{installation['id']}/access_tokens", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_a_personal_token_knows_its_user_and_scopes(api: httpx.Client) -> None:
    answer = api.get("/user")
    assert answer.json()["login"] == "platform-admin"
    assert "admin:org" in answer.headers["x-oauth-scopes"]


def test_the_api_is_also_served_without_the_enterprise_prefix(forge: Forge, api: httpx.Client) -> None:
    plain = httpx.get(f"{forge.url}/user", headers=api.headers, trust_env=False)
    assert plain.json() == api.get("/user").json()


@pytest.mark.parametrize("token", ["ghp_unknown", "not a token"])
def test_an_unknown_token_is_bad_credentials(forge: Forge, token: str) -> None:
    with forge.api(None, Authorization=f"Bearer {token}") as api:
        answer = api.get("/user")
        assert (answer.status_code, answer.json()["message"]) == (401, "Bad credentials")


def test_an_expired_token_is_bad_credentials(forge: Forge) -> None:
    token = forge.sim("POST", "/tokens", {"expires_in_s": 60})["token"]
    with forge.api(token) as api:
        assert api.get("/user").status_code == 200
        forge.sim("POST", "/clock", {"advance_s": 61})
        assert api.get("/user").status_code == 401


def test_nobody_in_particular_sees_public_things_only(forge: Forge) -> None:
    with forge.api(None) as api:
        assert api.get("/repos/acme/website").status_code == 200
        assert api.get("/repos/acme/inference").status_code == 404
        assert api.get("/user").status_code == 401
        assert api.get("/repos/acme/website").headers["x-ratelimit-limit"] == "60"


def test_an_app_signs_in_by_client_id_or_number(forge: Forge, app: Any) -> None:
    for issuer in (app["client_id"], str(app["id"])):
        with forge.api(sign(app, iss=issuer)) as api:
            assert api.get("/app").json()["id"] == app["id"]


@pytest.mark.parametrize(
    ("claim", "seconds", "text"),
    [
        ("exp", 3600, "is too far in the future"),
        ("exp", -10, "'Expiration time' claim ('exp') must be"),
        ("iat", 600, "'Issued at' claim ('iat') must be"),
        ("iss", None, "'Issuer' claim ('iss')"),
    ],
)
def test_a_wrong_claim_is_named(forge: Forge, app: Any, claim: str, seconds: int | None, text: str) -> None:
    # Reckoned here, not where tests are collected: many minutes may lie between.
    value = None if seconds is None else int(time.time()) + seconds
    with forge.api(sign(app, **{claim: value})) as api:
        answer = api.get("/app")
        assert answer.status_code == 401
        assert text in answer.json()["message"]


def test_a_jwt_of_another_key_is_not_decoded(forge: Forge, app: Any) -> None:
    other = forge.sim("POST", "/apps", {"name": "other"})
    with forge.api(sign({**app, "pem": other["pem"]})) as api:
        assert api.get("/app").json()["message"] == "A JSON web token could not be decoded"


def test_a_personal_token_is_not_an_app(api: httpx.Client) -> None:
    assert api.get("/app").status_code == 401


def test_an_installation_token_works_within_its_permissions_for_an_hour(
    forge: Forge, app: Any, installation: Any
) -> None:
    made = token_of(forge, app, installation)
    assert made["permissions"] == {"metadata": "read", **PERMISSIONS}
    with forge.api(made["token"]) as api:
        assert api.get("/orgs/acme/actions/runners").status_code == 200
        refused = api.get("/orgs/acme/hooks")
        assert refused.status_code == 403
        assert refused.json()["message"] == "Resource not accessible by integration"
        assert api.get("/orgs/acme-free/actions/runners").status_code == 404
        forge.sim("POST", "/clock", {"advance_s": 3601})
        assert api.get("/orgs/acme/actions/runners").status_code == 401


def test_read_permission_does_not_write(forge: Forge, app: Any, installation: Any) -> None:
    made = token_of(forge, app, installation, permissions={"organization_self_hosted_runners": "read"})
    with forge.api(made["token"]) as api:
        assert api.get("/orgs/acme/actions/runners").status_code == 200
        body = {"name": "r", "runner_group_id": 1, "labels": ["x"]}
        assert api.post("/orgs/acme/actions/runners/generate-jitconfig", json=body).status_code == 403


def test_a_token_narrowed_to_a_repository_does_not_see_the_others(
    forge: Forge, app: Any, installation: Any
) -> None:
    made = token_of(forge, app, installation, repositories=["inference"])
    assert made["repository_selection"] == "selected"
    with forge.api(made["token"]) as api:
        found = api.get("/installation/repositories").json()["repositories"]
        assert [repo["name"] for repo in found] == ["inference"]
        assert api.get("/repos/acme/inference/actions/runs").status_code == 200
        assert api.get("/repos/acme/training").status_code == 404


@pytest.mark.parametrize("body", [{"repositories": ["nothing"]}, {"permissions": {"contents": "write"}}])
def test_a_token_cannot_be_more_than_its_installation(
    forge: Forge, app: Any, installation: Any, body: dict[str, object]
) -> None:
    with forge.api(sign(app)) as api:
        answer = api.post(f"/app/installations/{installation['id']}/access_tokens", json=body)
        assert answer.status_code == 422


def test_an_installation_is_found_by_organisation_and_repository(
    forge: Forge, app: Any, installation: Any
) -> None:
    with forge.api(sign(app)) as api:
        for path in ("/orgs/acme/installation", "/repos/acme/inference/installation"):
            assert api.get(path).json()["id"] == installation["id"]
        assert api.get("/app/installations").json()[0]["account"]["login"] == "acme"


def test_an_uninstalled_app_loses_its_tokens(forge: Forge, app: Any, installation: Any) -> None:
    token = token_of(forge, app, installation)["token"]
    with forge.api(sign(app)) as api:
        assert api.delete(f"/app/installations/{installation['id']}").status_code == 204
    with forge.api(token) as api:
        assert api.get("/orgs/acme/actions/runners").status_code == 401
