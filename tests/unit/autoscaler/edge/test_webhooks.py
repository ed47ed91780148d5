"""§4 case 2: forged, rotated and malformed webhooks."""

import base64
import hashlib
import hmac
import json
from typing import Any

import pytest

from shadow_autoscaler.edge.webhooks import github, gitlab
from shadow_autoscaler.edge.webhooks.gitlab import Trusted
from shadow_autoscaler.edge.webhooks.verdicts import Accepted, Ignored, Refused, Request, Verdict

NOW = 1_767_225_600.0
"""2026-01-01 00:00 UTC."""
BODY = json.dumps(
    {"action": "queued", "workflow_job": {"id": 5001, "created_at": "2026-01-01T00:00:00Z"}}
).encode()


def signature(body: bytes = BODY, key: str = "current") -> str:
    return "sha256=" + hmac.new(key.encode(), body, hashlib.sha256).hexdigest()


def at_github(
    body: bytes = BODY, secrets: tuple[str, ...] = ("current", "former"), **headers: str
) -> Verdict:
    known = {
        "x-hub-signature-256": signature(body),
        "x-github-event": "workflow_job",
        "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
    }
    given = known | {name.replace("_", "-"): value for name, value in headers.items()}
    return github.verify(Request(given, body, NOW), secrets)


def at_gitlab(body: bytes, trusted: Trusted, **headers: str) -> Verdict:
    known = {"x-gitlab-event": "Job Hook"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return gitlab.verify(Request(known, body, NOW), trusted)


def test_a_signed_body_is_accepted_as_it_came() -> None:
    verdict = at_github()
    assert isinstance(verdict, Accepted)
    assert not verdict.old_secret
    assert verdict.delivery.body == BODY
    assert verdict.delivery.delivery_id == "github-72d3162e-cc78-11e3-81ab-4c9367dc0958"


@pytest.mark.parametrize(
    "given",
    [
        signature(key="unknown"),
        "",
        "sha1=" + hmac.new(b"current", BODY, hashlib.sha1).hexdigest(),
        signature(json.dumps(json.loads(BODY), sort_keys=True, indent=1).encode()),
        signature().upper(),
        "sha256=",
        "sha256=\udcff",
    ],
)
def test_what_the_secret_did_not_sign_is_refused_without_a_hint(given: str) -> None:
    verdict = at_github(x_hub_signature_256=given)
    assert isinstance(verdict, Refused)
    assert verdict.status == 401
    assert signature().removeprefix("sha256=") not in repr(verdict)


def test_the_former_secret_holds_during_a_rotation_and_no_longer() -> None:
    old = signature(key="former")
    verdict = at_github(x_hub_signature_256=old)
    assert isinstance(verdict, Accepted)
    assert verdict.old_secret
    assert isinstance(at_github(secrets=("current",), x_hub_signature_256=old), Refused)


@pytest.mark.parametrize(
    ("body", "part"),
    [
        (b"\xef\xbb\xbf{}", "BOM"),
        (b'{"a": "\xff"}', "UTF-8 at byte 7"),
        (b"[]", "a JSON list"),
        (b'"x"', "a JSON str"),
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_a_genuine_body_that_is_no_object_is_a_bad_request(body: bytes, part: str) -> None:
    verdict = at_github(body)
    assert isinstance(verdict, Refused)
    assert verdict.status == 400
    assert part in verdict.error


def test_a_large_body_is_accepted_whole() -> None:
    body = json.dumps({"action": "queued", "padding": "x" * 300 * 1024}).encode()
    verdict = at_github(body)
    assert isinstance(verdict, Accepted)
    assert verdict.delivery.body == body


@pytest.mark.parametrize(("event", "status"), [("ping", 200), ("push", 202), ("", 202)])
def test_other_events_are_answered_and_not_written(event: str, status: int) -> None:
    verdict = at_github(x_github_event=event)
    assert isinstance(verdict, Ignored)
    assert verdict.status == status


def test_a_recording_is_no_news() -> None:
    old = {"action": "queued", "workflow_job": {"created_at": "2025-12-20T00:00:00Z", "completed_at": None}}
    assert isinstance(at_github(json.dumps(old).encode()), Ignored)
    old["workflow_job"]["completed_at"] = "2025-12-31T00:00:00Z"  # type: ignore[index]
    assert isinstance(at_github(json.dumps(old).encode()), Accepted)


def test_without_a_usable_guid_the_content_identifies_a_delivery() -> None:
    first, second = at_github(x_github_delivery="a b"), at_github(x_github_delivery="")
    assert isinstance(first, Accepted)
    assert isinstance(second, Accepted)
    assert first.delivery.delivery_id == second.delivery.delivery_id != at_github().delivery.delivery_id  # type: ignore[union-attr]


GITLAB_BODY = json.dumps({"object_kind": "build", "build_created_at": "2025-12-31 23:59:00 UTC"}).encode()
KEY = "whsec_" + base64.b64encode(b"k" * 32).decode()


def hook(timestamp: str, body: bytes = GITLAB_BODY, key: bytes = b"k" * 32) -> dict[str, Any]:
    digest = hmac.digest(key, f"msg_1.{timestamp}.".encode() + body, hashlib.sha256)
    return {
        "webhook_id": "msg_1",
        "webhook_timestamp": timestamp,
        "webhook_signature": "v1a,zz v1," + base64.b64encode(digest).decode(),
    }


def test_gitlab_s_token_is_accepted_also_the_former_one() -> None:
    trusted = Trusted(tokens=("current", "former"))
    for token, old in (("current", False), ("former", True)):
        verdict = at_gitlab(GITLAB_BODY, trusted, x_gitlab_token=token, idempotency_key="k-1")
        assert isinstance(verdict, Accepted)
        assert (verdict.old_secret, verdict.delivery.delivery_id) == (old, "gitlab-k-1")


@pytest.mark.parametrize("token", ["", "Current", "current ", "\udcff"])
def test_gitlab_s_wrong_token_is_refused(token: str) -> None:
    verdict = at_gitlab(GITLAB_BODY, Trusted(tokens=("current",)), x_gitlab_token=token)
    assert isinstance(verdict, Refused)


def test_a_signed_hook_is_accepted_within_five_minutes() -> None:
    trusted = Trusted(signing=(KEY,))
    assert isinstance(at_gitlab(GITLAB_BODY, trusted, **hook(str(int(NOW) - 299))), Accepted)
    stale = at_gitlab(GITLAB_BODY, trusted, **hook(str(int(NOW) - 301)))
    assert isinstance(stale, Refused)
    assert "five minutes" in stale.error


@pytest.mark.parametrize(
    "headers",
    [
        hook(str(int(NOW)), body=b"{}"),
        hook(str(int(NOW)), key=b"x" * 32),
        hook("soon"),
        hook(str(int(NOW))) | {"webhook_id": "msg_2"},
        {"webhook_signature": "v1,"},
        {},
    ],
)
def test_a_hook_with_another_signature_is_refused(headers: dict[str, str]) -> None:
    verdict = at_gitlab(GITLAB_BODY, Trusted(signing=(KEY,)), **headers)
    assert isinstance(verdict, Refused)
    assert verdict.status == 401


def test_a_signature_counts_more_than_a_token() -> None:
    trusted = Trusted(tokens=("current",), signing=(KEY,))
    wrong = hook(str(int(NOW)), key=b"x" * 32)
    assert isinstance(at_gitlab(GITLAB_BODY, trusted, x_gitlab_token="current", **wrong), Refused)


def test_gitlab_recordings_are_no_news() -> None:
    body = json.dumps({"object_kind": "build", "build_created_at": "2025-12-01 00:00:00 UTC"}).encode()
    assert isinstance(at_gitlab(body, Trusted(tokens=("t",)), x_gitlab_token="t"), Ignored)
