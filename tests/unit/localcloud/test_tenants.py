"""A credential is asked for again where Keystone lags behind, and only there."""

import contextlib
from typing import Any

import pytest
from openstack.exceptions import HttpException

from localcloud.openstack import clouds, tenants

TENANT = tenants.Tenant("t", "project", "user")


def answers(monkeypatch: pytest.MonkeyPatch, *outcomes: HttpException | str) -> list[HttpException | str]:
    """Let Keystone give these outcomes in turn; returns those that are left."""
    left = list(outcomes)

    def replaced(*_: Any) -> dict[str, Any]:
        outcome = left.pop(0)
        if isinstance(outcome, str):
            return {}
        raise outcome

    monkeypatch.setattr(clouds, "connect", lambda _: contextlib.nullcontext())
    monkeypatch.setattr(clouds, "put", lambda *_: None)
    monkeypatch.setattr(tenants, "_replaced", replaced)
    return left


def test_a_token_of_the_second_of_a_password_change_and_a_role_not_seen_yet_are_got_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    role = "Invalid application credential: Could not find role assignment with role: x"
    errors = (HttpException("401", http_status=401), HttpException(role, http_status=400))
    left = answers(monkeypatch, *errors, "id")
    tenants._credentials(TENANT, "t", "password", {"t": None})
    assert left == []


def test_any_other_refusal_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    left = answers(monkeypatch, HttpException("Bad rules", http_status=400), "id")
    with pytest.raises(HttpException, match="Bad rules"):
        tenants._credentials(TENANT, "t", "password", {"t": None})
    assert left == ["id"]


def test_a_refusal_that_stays_is_told_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tenants, "_REVOKED_SECONDS", 0)
    answers(monkeypatch, *[HttpException("401", http_status=401)] * 9)
    with pytest.raises(HttpException, match="401"):
        tenants._credentials(TENANT, "t", "password", {"t": None})
