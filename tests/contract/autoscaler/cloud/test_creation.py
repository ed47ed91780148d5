"""What the adapter asks the local cloud for: marks, disks, ports, user-data; nothing is left of a refusal."""

import base64
from dataclasses import replace

import pytest
from contract.autoscaler.cloud.labs import DEPLOYMENT, USER_DATA, RealLab, new_vm, spec

from localcloud.openstack import clouds, faults
from localcloud.processes import wait_until
from shadow_autoscaler.adapters.openstack import Machine, OpenStackCloud, OpenStackSettings
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError
from shadow_autoscaler.core.machines import ServerStatus

pytestmark = pytest.mark.localcloud

MARK = {
    "shadow-gpu-runners.managed-by": "shadow-gpu-runners",
    "shadow-gpu-runners.deployment": DEPLOYMENT,
    "shadow-gpu-runners.component": "autoscaler",
}


def raw_server(real: RealLab, server_id: str) -> dict[str, object]:
    with clouds.connect() as admin:
        found: dict[str, object] = admin.compute.get(f"/servers/{server_id}", microversion="2.90").json()
    server = found["server"]
    assert isinstance(server, dict)
    return server


def refused(cloud: OpenStackCloud, **wanted: str) -> Failure:
    with pytest.raises(PortError) as caught:
        cloud.create(spec(**wanted))
    return caught.value.failure


@pytest.mark.parametrize("pool", ["disk", "port", pytest.param("nova-disk", marks=pytest.mark.slow)])
def test_everything_made_for_a_server_carries_the_mark_and_goes_with_it(real: RealLab, pool: str) -> None:
    vm = new_vm()
    server = real.boot(spec(vm, pool=pool))
    assert server.status is ServerStatus.ACTIVE, server.fault
    assert real.cloud.leftovers() == ()
    mark = {**MARK, "shadow-gpu-runners.vm": vm}
    more = {"shadow-gpu-runners.pool": pool, "shadow-gpu-runners.job": "github:acme/app:1:1"}
    shown = raw_server(real, server.server_id)
    assert shown["metadata"] == mark | more
    assert base64.b64decode(str(shown["OS-EXT-SRV-ATTR:user_data"])).decode() == USER_DATA
    assert shown["config_drive"] == "True"
    (port,) = real.raw("network", "/ports")["ports"]
    assert set(port["description"].split()) == {
        "managed-by=shadow-gpu-runners",
        f"deployment={DEPLOYMENT}",
        "component=autoscaler",
        f"vm={vm}",
    }
    volumes = real.raw("block_storage", "/volumes/detail")["volumes"]
    assert [mark.items() <= volume["metadata"].items() for volume in volumes] == [True] * ("disk" in pool)
    real.cloud.delete(server.server_id)
    assert real.gone(server.server_id)
    for left in real.cloud.leftovers():
        assert (left.vm, pool) == (vm, "port")
        real.cloud.remove(left)
    assert real.raw("network", "/ports")["ports"] == []
    assert wait_until(lambda: real.raw("block_storage", "/volumes")["volumes"] == [], 30)


@pytest.mark.slow
def test_zone_and_key_are_asked_for(real: RealLab) -> None:
    compute = real.tenancy.connection.compute
    key = compute.create_keypair(name="contract-cloud")
    try:
        machine = real.settings.machine_of("local")
        keyed = real.with_settings(pools={"local": replace(machine, key_name=key.name)})
        server = real.settled(keyed.create(spec(zone="zone-b")))
        assert (server.zone, server.addresses[0][:8]) == ("zone-b", "10.77.0.")
        assert raw_server(real, server.server_id)["key_name"] == key.name
    finally:
        compute.delete_keypair(key)


def test_user_data_over_novas_limit_is_refused_before_any_call() -> None:
    cloud = OpenStackCloud(OpenStackSettings(DEPLOYMENT, "no-such-cloud", Machine("image", "network")))
    wanted = replace(spec(), user_data="x" * 49_152)
    with pytest.raises(PortError, match=r"65,536 as base64.*Nova takes 65,535") as caught:
        cloud.create(wanted)
    assert caught.value.failure.kind is FailureKind.CONFIG


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"image": "no-such-image"}, "image 'no-such-image' does not exist"),
        ({"image": "00000000-0000-4000-8000-000000000000"}, "image"),
        ({"network": "no-such-network"}, "network 'no-such-network' does not exist"),
        ({"network": "00000000-0000-4000-8000-000000000000"}, "Network 00000000-0000-4000-8000-000000000000"),
        ({"key_name": "no-such-key"}, "Invalid key_name"),
        ({"security_groups": ("no-such-group",)}, "no-such-group"),
    ],
)
def test_a_wrong_name_or_id_breaks_the_pool_and_leaves_nothing(
    real: RealLab, changes: dict[str, object], text: str
) -> None:
    machine = replace(real.settings.machine_of("disk"), **changes)  # type: ignore[arg-type]
    failure = refused(real.with_settings(pools={"local": machine}))
    assert failure.kind is FailureKind.CONFIG, failure
    assert text in failure.text
    assert real.tenancy.tenant.leftovers()[1:] == []


def test_a_flavor_without_a_disk_needs_a_volume_and_says_so(real: RealLab) -> None:
    failure = refused(real.with_settings(), flavor="edge-c4m16-gpu-2000-1")
    assert failure.kind is FailureKind.CONFIG
    assert "volume-backed" in failure.text


def test_a_zone_that_does_not_exist_is_a_fault_of_the_configuration(real: RealLab) -> None:
    failure = refused(real.with_settings(), zone="zone-z")
    assert failure.kind is FailureKind.CONFIG
    assert "availability zone" in failure.text


def test_a_full_network_is_a_quota_of_addresses_before_a_server_exists(real: RealLab) -> None:
    network = real.tenancy.connection.network
    small = network.create_network(name="small")
    # A /30 has two addresses: the gateway's and one more.
    network.create_subnet(network_id=small.id, ip_version=4, cidr="10.78.0.0/30", enable_dhcp=False)
    try:
        taken = network.create_port(network_id=small.id)
        machine = real.settings.machine_of("port")
        cloud = real.with_settings(pools={"local": replace(machine, network="small")})
        failure = refused(cloud)
        assert (failure.kind, failure.resource) == (FailureKind.QUOTA, "addresses")
        assert real.cloud.servers() == ()
        network.delete_port(taken)
    finally:
        network.delete_network(small)


@pytest.mark.parametrize(
    ("quota", "resource"), [({"gigabytes": 10}, "gigabytes"), ({"volumes": 0}, "volumes")]
)
@pytest.mark.parametrize("pool", ["disk", pytest.param("nova-disk", marks=pytest.mark.slow)])
def test_a_volume_quota_is_a_quota_at_once_or_in_the_servers_fault(
    real: RealLab, quota: dict[str, int], resource: str, pool: str
) -> None:
    path = f"/os-quota-sets/{real.tenancy.tenant.project_id}"
    with clouds.connect() as admin:
        before = {name: admin.block_storage.get(path).json()["quota_set"][name] for name in quota}
        admin.block_storage.put(path, json={"quota_set": quota})
        try:
            if pool == "disk":
                failure = refused(real.with_settings(), pool=pool)
            else:
                server = real.boot(spec(pool=pool))
                assert server.failure is not None, server
                failure = server.failure
        finally:
            admin.block_storage.put(path, json={"quota_set": before})
    assert (failure.kind, failure.resource) == (FailureKind.QUOTA, resource), failure


@pytest.mark.parametrize("pool", ["disk", pytest.param("nova-disk", marks=pytest.mark.slow)])
def test_a_volume_that_cannot_be_made_is_tried_again_and_leaves_nothing(real: RealLab, pool: str) -> None:
    project = real.tenancy.tenant.project_id
    with faults.switched_on("volume_create_fail", "the shelf is full", project_id=project):
        if pool == "disk":
            failure = refused(real.with_settings(), pool=pool)
        else:
            server = real.boot(spec(pool=pool))
            assert server.failure is not None
            failure = server.failure
            real.cloud.delete(server.server_id)
            assert real.gone(server.server_id)
    assert failure.kind in {FailureKind.TRANSIENT, FailureKind.CAPACITY}, failure
    assert wait_until(lambda: real.raw("block_storage", "/volumes")["volumes"] == [], 30)


@pytest.mark.slow
def test_an_image_replaced_by_another_of_its_name_is_looked_up_anew(real: RealLab) -> None:
    image = real.tenancy.connection.image
    machine = real.settings.machine_of("local")
    cloud = real.with_settings(pools={"local": replace(machine, image="rolling")})

    def publish() -> str:
        made = image.create_image(
            name="rolling",
            disk_format="raw",
            container_format="bare",
            allow_duplicates=True,
            data=b"0" * 1024,
        )
        return str(made.id)

    first = publish()
    try:
        one = cloud.create(spec())
        image.delete_image(first)
        first = publish()
        two = cloud.create(spec())
        assert raw_server(real, two.server_id)["image"] != raw_server(real, one.server_id)["image"]
    finally:
        image.delete_image(first)
