"""Each fault shows to a client as it would on a real cloud, and ends when switched off."""

import pytest
from openstack import exceptions

from localcloud.openstack import clouds, faults
from localcloud.openstack.lab import Lab
from localcloud.processes import wait_until

pytestmark = pytest.mark.localcloud


@pytest.mark.parametrize("name", ["spawn_fail", "bind_fail", "volume_create_fail"])
def test_a_failing_boot_ends_in_error_and_only_for_the_project_named(lab: Lab, name: str) -> None:
    with faults.switched_on(name, "GPU fell off the bus", project_id=lab.tenant.project_id):
        server = lab.boot("failing", "micro-c1m2")
    assert server.status == "ERROR"
    assert server.fault["message"]
    after = lab.boot("working", "micro-c1m2")
    assert after.status == "ACTIVE"


def test_one_server_alone_fails_by_its_metadata(lab: Lab) -> None:
    server = lab.boot("failing", "micro-c1m2", metadata={"fault.spawn_fail": "no such card"})
    assert server.status == "ERROR"


def test_a_server_that_cannot_be_destroyed_goes_at_the_second_try(lab: Lab) -> None:
    server = lab.boot("stuck", "micro-c1m2")
    with faults.switched_on("destroy_fail", "iommu stuck", project_id=lab.tenant.project_id):
        lab.connection.compute.delete_server(server.id)
        assert wait_until(lambda: lab.connection.compute.get_server(server.id).status == "ERROR", 30)
    assert "iommu stuck" in lab.connection.compute.get_server(server.id).fault["message"]
    lab.delete(server)


def test_a_volume_type_alone_can_fail(lab: Lab) -> None:
    storage = lab.connection.block_storage
    with faults.switched_on(
        "volume_create_fail", "shelf is full", project_id=lab.tenant.project_id, volume_type="Silver"
    ):
        made = {kind: storage.create_volume(size=1, volume_type=kind) for kind in ("Silver", "Wood")}

        def settled() -> bool:
            return all(storage.get_volume(disk.id).status in {"available", "error"} for disk in made.values())

        assert wait_until(settled, 30)
        states = {kind: storage.get_volume(disk.id).status for kind, disk in made.items()}
    assert states == {"Silver": "error", "Wood": "available"}
    for disk in made.values():
        storage.delete_volume(disk.id)


@pytest.mark.slow
def test_an_api_can_answer_503_and_come_back() -> None:
    with clouds.connect() as admin:
        assert list(admin.placement.resource_providers())
        with faults.without("placement", lambda name: faults.answer(name, 503, 7)):
            with pytest.raises(exceptions.HttpException) as caught:
                list(admin.placement.resource_providers())
            assert caught.value.status_code == 503
            assert caught.value.response is not None
            assert caught.value.response.headers["Retry-After"] == "7"
        assert list(admin.placement.resource_providers())


def test_an_unknown_fault_or_service_is_refused_with_the_known_ones() -> None:
    with pytest.raises(faults.UnknownFaultError, match="spawn_fail"):
        faults.switch_on("spawn_failure", "x")
    with pytest.raises(faults.UnknownFaultError, match="compute-host1"):
        faults.pause("compute-host9")
