"""When a failing hook is switched off, and what a signature is made of."""

import base64
import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcloud.gitlab import hooks
from localcloud.gitlab.delivery import is_loopback
from localcloud.gitlab.instance import Instance
from localcloud.gitlab.signing import key_of, signature
from localcloud.gitlab.store import Row


@pytest.fixture
def hook(instance: Instance) -> Row:
    hook_id = instance.store.insert(
        "hooks", owner_type="project", owner_id=1, url="http://127.0.0.1:1/", uuid="u", events={},
        created_at=instance.clock.stamp(),
    )  # fmt: skip
    return instance.store.get("hooks", hook_id)


def fail(instance: Instance, hook: Row, times: int = 1) -> str:
    for _ in range(times):
        hooks.record_outcome(instance, instance.store.get("hooks", hook["id"]), succeeded=False)
    return hooks.alert_status(instance, instance.store.get("hooks", hook["id"]))


def test_three_failures_are_forgiven_the_fourth_is_not(instance: Instance, hook: Row) -> None:
    assert fail(instance, hook, 3) == "executable"
    assert fail(instance, hook) == "temporarily_disabled"


def test_a_rest_ends_and_the_next_is_twice_as_long(instance: Instance, hook: Row) -> None:
    fail(instance, hook, 4)
    instance.clock.offset_s += 61
    assert hooks.alert_status(instance, instance.store.get("hooks", hook["id"])) == "executable"
    assert fail(instance, hook) == "temporarily_disabled"
    instance.clock.offset_s += 61
    assert hooks.alert_status(instance, instance.store.get("hooks", hook["id"])) == "temporarily_disabled"
    instance.clock.offset_s += 60
    assert hooks.alert_status(instance, instance.store.get("hooks", hook["id"])) == "executable"


def test_the_fortieth_failure_is_final(instance: Instance, hook: Row) -> None:
    assert fail(instance, hook, 39) == "temporarily_disabled"
    assert fail(instance, hook) == "disabled"
    instance.clock.offset_s += 400 * 86_400
    assert fail(instance, hook) == "disabled"


def test_one_success_forgives_everything(instance: Instance, hook: Row) -> None:
    fail(instance, hook, 20)
    hooks.record_outcome(instance, instance.store.get("hooks", hook["id"]), succeeded=True)
    found = instance.store.get("hooks", hook["id"])
    assert (found["recent_failures"], found["disabled_until"]) == (0, None)


@pytest.mark.parametrize(
    ("failures", "seconds"), [(3, 60), (4, 120), (6, 480), (13, 61_440), (14, 86_400), (38, 86_400)]
)
def test_rests_double_up_to_a_day(failures: int, seconds: float) -> None:
    assert hooks.backoff_s(failures) == seconds


@given(st.binary(min_size=1, max_size=64), st.binary(max_size=200))
def test_the_signature_covers_id_time_and_body(key: bytes, body: bytes) -> None:
    token = "whsec_" + base64.b64encode(key).decode()
    expected = hmac.new(key, b"id-1.1700000000." + body, hashlib.sha256).digest()
    assert signature(token, "id-1", "1700000000", body) == "v1," + base64.b64encode(expected).decode()
    assert signature(token, "id-1", "1700000001", body) != signature(token, "id-1", "1700000000", body)


@pytest.mark.parametrize("token", ["", "secret", "whsec_***", "WHSEC_YQ=="])
def test_what_is_no_signing_token(token: str) -> None:
    with pytest.raises(ValueError, match="whsec_"):
        key_of(token)


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("http://127.0.0.1:8/x", True), ("https://localhost/", True), ("http://[::1]:9/", True),
        ("http://127.0.0.1.example.com/", False), ("http://169.254.169.254/", False),
        ("file:///etc/passwd", False),
        ("http://user@10.0.0.1/", False), ("", False),
    ],
)  # fmt: skip
def test_only_this_machine_is_contacted(url: str, allowed: bool) -> None:
    assert is_loopback(url) is allowed
