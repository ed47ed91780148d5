"""What the cloud's errors ask for. The texts are those of Nova, Neutron, Cinder and Keystone."""

from datetime import UTC, datetime

import pytest

from shadow_autoscaler.adapters.openstack_errors import Answer, of_answer, of_fault, retry_after_s
from shadow_autoscaler.core.faults import FailureKind

CALL = "compute POST /servers"


def kind_and_resource(status: int, message: str, **more: str) -> tuple[FailureKind, str]:
    failure = of_answer(Answer(CALL, status, message, once=True, **more))
    return failure.kind, failure.resource


QUOTAS = {
    "Quota exceeded for cores: Requested 8, but already used 60 of 64 cores": "cores",
    "Quota exceeded for cores, instances: Requested 8, 1, but already used 60, 9 of 64, 9": "cores",
    "Quota exceeded for instances: Requested 1, but already used 1 of 1 instances": "instances",
    "Quota exceeded for ram: Requested 16384, but already used 0 of 1024 ram": "ram",
    "Quota exceeded, too many servers in group": "",
    "Maximum number of ports exceeded": "ports",
    "Project ab is over a limit for [OverLimitInfo(resource_name='servers', limit=1, delta=1)]": "instances",
    "Project ab is over a limit for [OverLimitInfo(resource_name='class:VCPU', limit=1, delta=1)]": "cores",
    "OverQuota: Quota exceeded for resources: ['port'].": "ports",
    "OverQuota: Quota exceeded for resources: ['floatingip'].": "floating_ips",
    "IpAddressGenerationFailure: No more IP addresses available on network 7f3c.": "addresses",
    "No fixed IP addresses available for network: 7f3c": "addresses",
    "VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed gigabytes quota. "
    "Requested 20G, quota is 10G and 0G has been consumed.": "gigabytes",
    "VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded for quota 'volumes'.": "volumes",
}


@pytest.mark.parametrize("message", QUOTAS)
@pytest.mark.parametrize("status", [403, 413])
def test_a_quota_is_known_by_its_text_and_names_its_resource(message: str, status: int) -> None:
    assert kind_and_resource(status, message) == (FailureKind.QUOTA, QUOTAS[message])


@pytest.mark.parametrize("message", QUOTAS)
def test_a_quota_inside_the_fault_of_a_server_is_a_quota_too(message: str) -> None:
    failure = of_fault(f"Build of instance 27ce aborted: {message}", 500)
    assert (failure.kind, failure.resource) == (FailureKind.QUOTA, QUOTAS[message])


def test_cinders_retry_after_zero_on_a_quota_is_not_a_time_to_wait() -> None:
    failure = of_answer(Answer("block-storage POST /volumes", 413, "gigabytes quota", retry_after="0"))
    assert (failure.kind, failure.retry_after_s) == (FailureKind.QUOTA, None)


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "Invalid image", FailureKind.CONFIG),
        (400, "Can not find requested image", FailureKind.CONFIG),
        (400, "Unknown security group", FailureKind.CONFIG),
        (400, "Invalid key_name provided.", FailureKind.CONFIG),
        (400, "The requested availability zone is not available", FailureKind.CAPACITY),
        (401, "The request you have made requires authentication.", FailureKind.AUTH),
        (403, "Only volume-backed servers are allowed for flavors with zero disk.", FailureKind.CONFIG),
        (403, "Policy doesn't allow os_compute_api:servers:create to be performed.", FailureKind.AUTH),
        (404, "Flavor 9 could not be found.", FailureKind.CONFIG),
        (406, "Version 2.90 is not supported by the API.", FailureKind.CONFIG),
        (409, "Port 51 is still in use.", FailureKind.CONFLICT),
        (409, "Multiple possible networks found, use a Network ID to be more specific.", FailureKind.CONFIG),
        (413, "Request is too large.", FailureKind.CONFIG),
        (429, "Too many requests", FailureKind.THROTTLED),
        (408, "Request Time-out", FailureKind.UNKNOWN_OUTCOME),
        (500, "Unexpected API Error.", FailureKind.UNKNOWN_OUTCOME),
        (502, "Bad Gateway", FailureKind.UNKNOWN_OUTCOME),
        (504, "Gateway Time-out", FailureKind.UNKNOWN_OUTCOME),
        (503, "The Keystone service is temporarily unavailable.", FailureKind.TRANSIENT),
    ],
)
def test_an_answer_to_a_create_call_is_told_by_status_and_text(
    status: int, message: str, kind: FailureKind
) -> None:
    assert kind_and_resource(status, message)[0] is kind


@pytest.mark.parametrize("status", [500, 502, 504, 408])
def test_a_lost_answer_to_any_other_call_is_only_a_nuisance(status: int) -> None:
    assert of_answer(Answer("compute GET /servers", status, "oops")).kind is FailureKind.TRANSIENT


def test_over_limit_with_a_time_to_wait_is_throttling() -> None:
    failure = of_answer(Answer(CALL, 413, "This request was rate-limited.", retry_after="7"))
    assert (failure.kind, failure.retry_after_s) == (FailureKind.THROTTLED, 7.0)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("No valid host was found. There are not enough hosts available.", FailureKind.CAPACITY),
        (
            "Exceeded maximum number of retries. Exhausted all hosts available for retrying",
            FailureKind.CAPACITY,
        ),
        ("Insufficient compute resources: Claim pci failed.", FailureKind.CAPACITY),
        ("Insufficient compute resources: Requested instance NUMA topology cannot fit", FailureKind.CAPACITY),
        ("PCI device request [...] failed", FailureKind.CAPACITY),
        ("Build of instance 27ce aborted: Image 1f could not be found.", FailureKind.CONFIG),
        ("Build of instance 27ce aborted: Network 1f could not be found.", FailureKind.CONFIG),
        (
            "Build of instance 27ce aborted: Failed to allocate the network(s), not rescheduling.",
            FailureKind.TRANSIENT,
        ),
        (
            (
                "Build of instance 27ce aborted: Volume 1f did not finish being created even after we waited "
                "180 seconds or 61 attempts. And its status is downloading."
            ),
            FailureKind.TRANSIENT,
        ),
        ("iommu stuck", FailureKind.TRANSIENT),
        ("", FailureKind.TRANSIENT),
    ],
)
def test_a_fault_of_a_server_is_told_by_its_text(message: str, kind: FailureKind) -> None:
    failure = of_fault(message, 500)
    assert failure.kind is kind
    assert failure.text


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("-1", 0.0),
        ("inf", 3600.0),
        ("", None),
        ("soon", None),
        ("Mon, 30 Nov 2026 12:00:30 GMT", 30.0),
    ],
)
def test_a_time_to_wait_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after_s(value, datetime(2026, 11, 30, 12, tzinfo=UTC)) == seconds


def test_a_text_names_the_call_and_the_request_and_is_never_longer_than_300() -> None:
    failure = of_answer(Answer(CALL, 401, "x" * 500, request_id="req-1"))
    assert failure.text.startswith("compute POST /servers: 401 xxx")
    assert failure.text.endswith("access rules do not allow this call (req-1)")
    assert len(failure.text) == 300
