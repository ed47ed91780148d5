"""Servers that stop, stick, are locked, or get no host: what is shown, and how they are got rid of."""

import pytest
from contract.autoscaler.cloud.labs import FULL, RealLab, new_vm, spec

from localcloud.openstack import faults
from localcloud.processes import wait_until
from shadow_autoscaler.core.faults import FailureKind, PortError
from shadow_autoscaler.core.machines import ServerStatus

pytestmark = pytest.mark.localcloud


def test_case_5_a_spot_shortage_shows_later_and_on_demand_follows_with_nothing_left(real: RealLab) -> None:
    vm = new_vm()
    spot = real.boot(spec(vm, flavor=FULL))
    assert (spot.status, spot.fault_code) == (ServerStatus.ERROR, 500)
    assert spot.failure is not None
    assert spot.failure.kind is FailureKind.CAPACITY
    real.cloud.delete(spot.server_id)
    on_demand = real.cloud.create(spec(new_vm(), pool="disk"))
    assert real.gone(spot.server_id)
    assert real.settled(on_demand).status is ServerStatus.ACTIVE
    real.cloud.delete(on_demand.server_id)
    assert real.gone(on_demand.server_id)
    for left in real.cloud.leftovers():
        real.cloud.remove(left)
    assert wait_until(lambda: real.tenancy.tenant.leftovers()[1:] == [], 60)


@pytest.mark.parametrize("fault", ["spawn_fail", pytest.param("bind_fail", marks=pytest.mark.slow)])
def test_a_build_that_fails_on_every_host_is_a_lack_of_hosts(real: RealLab, fault: str) -> None:
    with faults.switched_on(fault, "card fell off the bus", project_id=real.tenancy.tenant.project_id):
        failed = real.boot(spec(pool="disk"))
    assert failed.failure is not None
    assert failed.failure.kind is FailureKind.CAPACITY, failed
    real.cloud.delete(failed.server_id)
    assert real.gone(failed.server_id)


@pytest.mark.slow
def test_every_way_to_stand_still_is_stopped_and_can_be_deleted(real: RealLab) -> None:
    server = real.boot(spec())
    compute = real.tenancy.connection.compute
    ways = {
        "PAUSED": ("pause", "unpause"),
        "SUSPENDED": ("suspend", "resume"),
        "RESCUE": ("rescue", "unrescue"),
    }

    def raw() -> str:
        shown = real.cloud.server(server.server_id)
        assert shown is not None
        assert (shown.status is ServerStatus.ACTIVE) == (shown.raw_status == "ACTIVE")
        return shown.raw_status

    for status, (away, back) in ways.items():
        compute.post(f"/servers/{server.server_id}/action", json={away: None}).raise_for_status()
        assert wait_until(lambda: raw() == status, 60), status  # noqa: B023 - called within the loop
        compute.post(f"/servers/{server.server_id}/action", json={back: None}).raise_for_status()
        assert wait_until(lambda: raw() == "ACTIVE", 60), back
    compute.post(f"/servers/{server.server_id}/action", json={"shelve": None}).raise_for_status()
    assert wait_until(lambda: raw() == "SHELVED_OFFLOADED", 60)
    real.cloud.delete(server.server_id)
    assert real.gone(server.server_id)
    image = real.tenancy.connection.image
    for shelved in list(image.images(owner=real.tenancy.tenant.project_id)):
        image.delete_image(shelved.id)


@pytest.mark.slow
def test_a_deletion_under_way_shows_and_one_that_fails_is_asked_for_again(real: RealLab) -> None:
    server = real.boot(spec())
    project = real.tenancy.tenant.project_id
    with faults.switched_on("destroy_fail", "iommu stuck", project_id=project):
        real.cloud.delete(server.server_id)
        seen: set[ServerStatus] = set()

        def failed() -> bool:
            shown = real.cloud.server(server.server_id)
            assert shown is not None
            seen.add(shown.status)
            return shown.status is ServerStatus.ERROR

        assert wait_until(failed, 60), seen
    shown = real.cloud.server(server.server_id)
    assert shown is not None
    assert "iommu stuck" in shown.fault
    forcing = real.with_settings(force_delete_after=1)
    with faults.switched_on("destroy_delay", 3, project_id=project):
        forcing.delete(server.server_id)
        assert wait_until(lambda: status_of(real, server.server_id) is ServerStatus.DELETING, 60)
        forcing.delete(server.server_id)
    assert real.gone(server.server_id)


def status_of(real: RealLab, server_id: str) -> ServerStatus | None:
    shown = real.cloud.server(server_id)
    return shown.status if shown else None


def test_a_locked_server_is_left_alone_unless_the_settings_say_otherwise(real: RealLab) -> None:
    server = real.boot(spec())
    lock = {"lock": {"locked_reason": "looking at the card"}}
    action = f"/servers/{server.server_id}/action"
    real.tenancy.connection.compute.post(action, json=lock, microversion="2.90").raise_for_status()
    with pytest.raises(PortError, match=r"locked \(looking at the card\).*openstack server unlock") as caught:
        real.cloud.delete(server.server_id)
    assert caught.value.failure.kind is FailureKind.CONFLICT
    assert status_of(real, server.server_id) is ServerStatus.ACTIVE
    real.with_settings(unlock=True).delete(server.server_id)
    assert real.gone(server.server_id)
