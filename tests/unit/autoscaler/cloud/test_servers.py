"""Nova's words about a server, its marks, limits and versions, in the words of the core."""

import pytest

from shadow_autoscaler.adapters.openstack import Machine, OpenStackSettings
from shadow_autoscaler.adapters.openstack_marks import Marks
from shadow_autoscaler.adapters.openstack_quota import _room
from shadow_autoscaler.adapters.openstack_servers import STATUSES, is_hidden, parse, seconds
from shadow_autoscaler.adapters.openstack_session import negotiated
from shadow_autoscaler.core.faults import FailureKind, PortError
from shadow_autoscaler.core.machines import ServerStatus

NOVA = {
    *(
        "ACTIVE",
        "BUILD",
        "DELETED",
        "ERROR",
        "HARD_REBOOT",
        "MIGRATING",
        "PASSWORD",
        "PAUSED",
        "REBOOT",
        "REBUILD",
    ),
    *(
        "RESCUE",
        "RESIZE",
        "REVERT_RESIZE",
        "SHELVED",
        "SHELVED_OFFLOADED",
        "SHUTOFF",
        "SOFT_DELETED",
        "SUSPENDED",
    ),
    *("UNKNOWN", "VERIFY_RESIZE"),
}
"""Every status in Nova's API guide."""


def test_every_status_of_nova_and_of_spot_clouds_has_a_meaning() -> None:
    assert STATUSES.keys() == NOVA | {"EXPIRED"}
    for status, meaning in STATUSES.items():
        assert parse({"id": "1", "status": status}, {}).status is meaning


@pytest.mark.parametrize(
    "status", ["SHUTOFF", "PAUSED", "SUSPENDED", "SHELVED", "SHELVED_OFFLOADED", "RESCUE", "EXPIRED"]
)
def test_what_runs_nothing_and_may_cost_is_stopped(status: str) -> None:
    assert parse({"id": "1", "status": status}, {}).status is ServerStatus.STOPPED


@pytest.mark.parametrize("task", ["deleting", "soft-deleting", "force-deleting"])
@pytest.mark.parametrize("status", ["ACTIVE", "ERROR", "BUILD"])
def test_a_deletion_shows_in_the_task_while_the_status_stays(status: str, task: str) -> None:
    server = parse({"id": "1", "status": status, "OS-EXT-STS:task_state": task}, {})
    assert (server.status, server.raw_status) == (ServerStatus.DELETING, status)


def test_a_status_that_nova_does_not_know_is_unknown() -> None:
    assert parse({"id": "1", "status": "PREEMPTED"}, {}).status is ServerStatus.UNKNOWN


def test_a_server_in_error_carries_what_its_fault_means() -> None:
    raw = {"id": "1", "status": "ERROR", "fault": {"code": 500, "message": "No valid host was found."}}
    server = parse(raw, {})
    assert server.failure is not None
    assert (server.failure.kind, server.fault_code) == (FailureKind.CAPACITY, 500)
    assert parse({"id": "1", "status": "SHUTOFF"}, {}).failure is None


def test_a_server_of_a_cell_that_is_down_hides_whose_it_is() -> None:
    assert is_hidden({"id": "1", "status": "UNKNOWN", "tenant_id": "2"})
    assert not is_hidden({"id": "1", "status": "UNKNOWN", "metadata": {}})


def test_times_are_utc() -> None:
    assert seconds("2026-11-30T12:00:00Z") == seconds("2026-11-30T12:00:00") == 1_796_040_000.0
    assert seconds(None) == 0.0


MARKS = Marks("acme.dev")
MINE = MARKS.metadata({"vm": "gpu-1", "job": "github:acme/app:1:1"})


def test_a_mark_that_was_written_is_read() -> None:
    assert MARKS.read(MINE) == {"vm": "gpu-1", "job": "github:acme/app:1:1"}
    assert MARKS.described(MARKS.description("gpu-1")) == "gpu-1"
    assert MARKS.described("", MARKS.description("gpu-1").split()) == "gpu-1"


@pytest.mark.parametrize(
    "other",
    [
        None,
        {},
        {"vm": "gpu-1"},
        {**MINE, "shadow-gpu-runners.deployment": "acme.dev2"},
        {**MINE, "shadow-gpu-runners.component": "gpu-runners"},
        {**MINE, "shadow-gpu-runners.managed-by": "somebody"},
        {key: value for key, value in MINE.items() if not key.endswith("component")},
    ],
)
def test_nothing_else_is_ours(other: dict[str, str] | None) -> None:
    assert MARKS.read(other) is None


@pytest.mark.parametrize(
    "text",
    [None, "", "my port", "deployment=acme.dev", MARKS.description("x").replace("acme.dev", "acme.dev.eu")],
)
def test_no_other_description_is_ours(text: str | None) -> None:
    assert MARKS.described(text) is None


def test_metadata_is_no_longer_than_nova_takes_and_cannot_forge_the_mark() -> None:
    values = MARKS.metadata({"job": "x" * 300, "deployment": "other"})
    assert max(map(len, values.values())) == 255
    assert values["shadow-gpu-runners.deployment"] == "acme.dev"


@pytest.mark.parametrize("deployment", ["", "two words", "a" * 101, "a/b", "a=b"])
def test_a_deployment_that_is_no_mark_is_refused(deployment: str) -> None:
    with pytest.raises(ValueError, match="no ownership mark; expected"):
        OpenStackSettings(deployment, "shadow", Machine("image", "network"))


@pytest.mark.parametrize(
    ("numbers", "room"),
    [
        ({"limit": 10, "used": 3, "reserved": 1}, 6),
        ({"limit": 2, "used": 3}, 0),
        ({"limit": -1, "used": 3}, None),
        ({"limit": 10}, None),
        ({"used": 3}, None),
        ({}, None),
    ],
)
def test_room_is_what_is_left_or_unknown(numbers: dict[str, int], room: int | None) -> None:
    assert _room(numbers, "limit", "used", "reserved") == room


@pytest.mark.parametrize(
    ("wanted", "offered", "spoken"),
    [
        ("2.90", (2, 104), "2.90"),
        ("2.90", (2, 90), "2.90"),
        ("2.90", (2, 79), "2.79"),
        ("2.80", (2, 96), "2.80"),
    ],
)
def test_the_microversion_is_the_wanted_one_or_the_clouds_highest(
    wanted: str, offered: tuple[int, ...], spoken: str
) -> None:
    assert negotiated(wanted, offered) == spoken


@pytest.mark.parametrize(
    ("wanted", "offered", "text"),
    [
        ("2.90", (2, 78), "2.78 is the cloud's highest; expected at least 2.79"),
        ("2.90", (), "none is the cloud's highest"),
        ("2.92", (2, 104), "'2.92'; expected 2.79 to 2.90"),
        ("2.9", (2, 104), "'2.9'; expected 2.79 to 2.90"),
        ("latest", (2, 104), "'latest'; expected 2.79 to 2.90"),
    ],
)
def test_a_microversion_out_of_bounds_is_refused(wanted: str, offered: tuple[int, ...], text: str) -> None:
    with pytest.raises(PortError, match=text) as caught:
        negotiated(wanted, offered)
    assert caught.value.failure.kind is FailureKind.CONFIG
