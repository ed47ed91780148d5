"""Nova, Neutron and Cinder behave towards a tenant as a real cloud does."""

import re
from collections.abc import Iterator

import pytest
from openstack import exceptions

from localcloud.openstack import faults, tenants
from localcloud.openstack.clouds import connect
from localcloud.openstack.lab import Lab
from localcloud.processes import wait_until
from shadow_gpu_runners import fallback

pytestmark = pytest.mark.localcloud


def volumes(lab: Lab) -> list[str]:
    return [volume.volume_type for volume in lab.connection.block_storage.volumes()]


def test_a_gpu_server_boots_from_a_wood_volume_and_takes_it_along(lab: Lab) -> None:
    server = lab.boot("runner", "boost-preemptible-c8m32-gpu-a4500-1", user_data="aGk=")
    assert server.status == "ACTIVE"
    assert server.flavor.original_name == "boost-preemptible-c8m32-gpu-a4500-1"
    assert volumes(lab) == ["Wood"]
    port = next(iter(lab.connection.network.ports(device_id=server.id)))
    assert port.status == "ACTIVE"
    lab.delete(server)
    assert wait_until(lambda: volumes(lab) == [], 30)
    assert list(lab.connection.network.ports(device_id=server.id)) == []


def test_a_gpu_flavor_has_no_local_disk(lab: Lab) -> None:
    flavor = lab.connection.compute.find_flavor("boost-c8m32-gpu-a4500-1", ignore_missing=False)
    with pytest.raises(exceptions.ForbiddenException, match="Only volume-backed servers"):
        lab.connection.compute.create_server(
            name="diskless", flavor_id=flavor.id, image_id=lab.image_id, networks=[{"uuid": lab.network_id}]
        )


@pytest.fixture
def exhausting() -> Iterator[Lab]:
    """A tenant whose quota lets it take all cards of a zone."""
    limits = {"cores": 200, "ram": 1024 * 1024}
    lab = Lab.open(tenants.make(tenants.unused_name("contract-exhaust"), limits))
    yield lab
    lab.connection.close()
    lab.tenant.delete()


ALL_CARDS = "boost-c64m256-gpu-a4500-8"
"""A zone has eight."""


def test_there_is_no_valid_host_once_the_cards_of_a_zone_are_taken(exhausting: Lab) -> None:
    first = exhausting.boot("first", ALL_CARDS, availability_zone="zone-b")
    assert first.status == "ACTIVE", first.fault
    second = exhausting.boot("second", ALL_CARDS, availability_zone="zone-b")
    assert second.status == "ERROR"
    assert "No valid host was found" in second.fault["message"]


def test_two_that_race_for_the_last_cards_fail_with_either_text_and_both_mean_no_capacity(
    exhausting: Lab,
) -> None:
    """The loser is refused by the scheduler, or later by the host that has just given its cards away."""
    racing = [exhausting.create(name, ALL_CARDS, availability_zone="zone-b") for name in ("one", "two")]
    settled = [exhausting.settled(server) for server in racing]
    lost = [server.fault["message"] for server in settled if server.status == "ERROR"]
    assert len(lost) == 1, lost
    assert re.match(
        "No valid host was found|Exceeded maximum number of retries. Exhausted all hosts", lost[0]
    ), lost
    urn = "urn:pulumi:dev::p::openstack:compute/instance:Instance::gpu-01"
    event = {"severity": "error", "urn": urn, "message": lost[0]}
    assert [failure.reason for failure in fallback.failures([event])] == ["no capacity"]


def test_a_host_that_fails_every_attempt_gives_the_text_of_exhausted_retries(lab: Lab) -> None:
    with faults.switched_on("spawn_fail", "card fell off the bus", project_id=lab.tenant.project_id):
        server = lab.boot("failing", "micro-c1m2")
    assert "Exceeded maximum number of retries. Exhausted all hosts" in server.fault["message"]


def test_quota_is_refused_with_403(lab: Lab) -> None:
    with pytest.raises(exceptions.ForbiddenException, match="Quota exceeded for cores"):
        lab.create("big", "boost-c64m256-gpu-a4500-8", min_count=2, max_count=2)
    assert list(lab.connection.compute.servers()) == []


def test_anti_affinity_spreads_over_hosts_and_then_fails(lab: Lab) -> None:
    group = lab.connection.compute.create_server_group(name="spread", policy="anti-affinity")
    hints = {"group": group.id}
    servers = [lab.boot(f"spread-{number}", "micro-c1m2", scheduler_hints=hints) for number in range(3)]
    assert [server.status for server in servers] == ["ACTIVE", "ACTIVE", "ERROR"]
    with connect() as admin:
        hosts = {admin.compute.get_server(server.id).compute_host for server in servers[:2]}
    assert hosts == {"host1", "host2"}
    lab.delete(*servers)
    lab.connection.compute.delete_server_group(group.id)


def test_the_external_network_gives_floating_ips(lab: Lab) -> None:
    network = lab.connection.network
    external = network.find_network("ext-net", ignore_missing=False)
    router = network.create_router(name="edge", external_gateway_info={"network_id": external.id})
    network.add_interface_to_router(router.id, lab.subnet_id)
    server = lab.boot("reachable", "micro-c1m2")
    port = next(iter(network.ports(device_id=server.id)))
    address = network.create_ip(floating_network_id=external.id, port_id=port.id)
    assert address.floating_ip_address.startswith("203.0.113.")

    def shown() -> bool:
        addresses = lab.connection.compute.get_server(server.id).addresses
        return address.floating_ip_address in {item["addr"] for net in addresses.values() for item in net}

    assert wait_until(shown, 30)
    network.delete_ip(address.id)
    network.remove_interface_from_router(router.id, lab.subnet_id)
    network.delete_router(router.id)


def test_servers_outlive_a_crash_of_nova_compute(lab: Lab) -> None:
    server = lab.boot("survivor", "micro-c1m2", availability_zone="zone-b")
    with faults.without("compute-host2", faults.kill):
        assert lab.connection.compute.get_server(server.id).status == "ACTIVE"
    after = lab.boot("newcomer", "micro-c1m2", availability_zone="zone-b")
    assert after.status == "ACTIVE"
    assert lab.connection.compute.get_server(server.id).status == "ACTIVE"


@pytest.mark.parametrize(("outcome", "status"), [("stop", "SHUTOFF"), ("error", "ERROR")])
def test_a_reclaimed_server_can_stay_behind(lab: Lab, outcome: faults.Outcome, status: str) -> None:
    server = lab.boot("spot", "micro-c1m2")
    faults.preempt(server.id, outcome)
    assert wait_until(lambda: lab.connection.compute.get_server(server.id).status == status, 30)


def test_a_reclaimed_server_can_be_gone(lab: Lab) -> None:
    server = lab.boot("spot", "micro-c1m2")
    faults.preempt(server.id)
    assert wait_until(lambda: lab.connection.compute.find_server(server.id) is None, 30)
