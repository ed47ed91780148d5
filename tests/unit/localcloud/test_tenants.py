"""What is refused because a service lags behind is asked for again, and only that."""

import contextlib
import time
from types import SimpleNamespace
from typing import Any

import pytest
from openstack.exceptions import HttpException
from requests import HTTPError, Response

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


@pytest.mark.parametrize(("statuses", "good"), [((403, 403, 200), True), ((409,), False)])
def test_a_worker_of_neutron_without_its_policy_yet_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, statuses: tuple[int, ...], good: bool
) -> None:
    left = list(statuses)
    monkeypatch.setattr(time, "sleep", lambda _: None)

    def put(*_: object, **__: object) -> Response:
        answer = Response()
        answer.status_code = left.pop(0)
        return answer

    admin = SimpleNamespace(network=SimpleNamespace(put=put))
    expected = contextlib.nullcontext() if good else pytest.raises(HTTPError, match="409")
    with expected:
        tenants._limit_network(admin, "project", {"port": 1})  # type: ignore[arg-type]
    assert not left
