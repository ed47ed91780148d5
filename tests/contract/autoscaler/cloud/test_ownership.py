"""What is not ours is neither shown nor touched; what is ours is found again when its server is gone."""

from pathlib import Path
from typing import Any

import pytest
from contract.autoscaler.cloud.labs import DEPLOYMENT, SMALL, RealLab, new_vm, spec

from localcloud.openstack import clouds
from localcloud.openstack.layout import url
from localcloud.openstack.proxy import FaultyProxy
from localcloud.processes import wait_until
from shadow_autoscaler.core.faults import FailureKind, PortError
from shadow_autoscaler.core.leftovers import LeftoverKind

pytestmark = pytest.mark.localcloud

OURS = {
    "shadow-gpu-runners.managed-by": "shadow-gpu-runners",
    "shadow-gpu-runners.deployment": DEPLOYMENT,
    "shadow-gpu-runners.component": "autoscaler",
    "shadow-gpu-runners.vm": "gpu-1",
}
FOREIGN = {
    "same name, no mark": {},
    "another deployment": {**OURS, "shadow-gpu-runners.deployment": f"{DEPLOYMENT}2"},
    "another component": {**OURS, "shadow-gpu-runners.component": "gpu-runners"},
}


def described(metadata: dict[str, str]) -> str:
    return " ".join(f"{key.removeprefix('shadow-gpu-runners.')}={value}" for key, value in metadata.items())


def plant(real: RealLab, metadata: dict[str, str]) -> str:
    compute = real.tenancy.connection.compute
    made = compute.create_server(
        name="gpu-1",
        flavor_id=compute.find_flavor(SMALL, ignore_missing=False).id,
        image_id=real.tenancy.image_id,
        networks=[{"uuid": real.tenancy.network_id}],
        metadata=metadata,
    )
    return str(made.id)


def test_servers_of_others_are_not_seen_and_not_deleted(real: RealLab) -> None:
    planted = {plant(real, metadata) for metadata in FOREIGN.values()}
    mine = real.cloud.create(spec())
    assert [server.server_id for server in real.cloud.servers()] == [mine.server_id]
    assert real.cloud.servers("gpu-1") == ()
    for server_id in planted:
        with pytest.raises(PortError, match="left alone"):
            real.cloud.server(server_id)
        assert real.cloud.console(server_id) == ""
        with pytest.raises(PortError, match=f"lacks the mark of '{DEPLOYMENT}': left alone") as caught:
            real.cloud.delete(server_id)
        assert caught.value.failure.kind is FailureKind.CONFLICT
    shown = {server["id"]: server for server in real.raw("compute", "/servers/detail")["servers"]}
    assert "deleting" not in {shown[server_id]["OS-EXT-STS:task_state"] for server_id in planted}


def test_leftovers_of_others_are_not_seen_and_not_removed(real: RealLab) -> None:
    network, storage = real.tenancy.connection.network, real.tenancy.connection.block_storage
    for metadata in FOREIGN.values():
        network.create_port(network_id=real.tenancy.network_id, name="gpu-1", description=described(metadata))
        storage.create_volume(size=1, name="gpu-1", metadata=metadata)
    assert volumes_settled(real)
    assert real.cloud.leftovers() == ()
    before = {port["id"] for port in real.raw("network", "/ports")["ports"]}
    for port_id in before:
        real.cloud.remove(left(LeftoverKind.PORT, port_id))
    assert {port["id"] for port in real.raw("network", "/ports")["ports"]} == before


def left(kind: LeftoverKind, leftover_id: str) -> Any:
    from shadow_autoscaler.core.leftovers import Leftover  # noqa: PLC0415

    return Leftover(kind, leftover_id, "gpu-1")


def volumes_settled(real: RealLab) -> bool:
    def settled() -> bool:
        listed = real.raw("block_storage", "/volumes/detail")["volumes"]
        return all(volume["status"] in {"available", "error", "in-use"} for volume in listed)

    return wait_until(settled, 60)


def test_ports_volumes_and_floating_ips_of_ours_are_found_in_order_and_removed(real: RealLab) -> None:
    network, storage = real.tenancy.connection.network, real.tenancy.connection.block_storage
    external = network.find_network("ext-net", ignore_missing=False)
    network.create_port(network_id=real.tenancy.network_id, description=described(OURS))
    network.create_ip(floating_network_id=external.id, description=described(OURS))
    storage.create_volume(size=1, metadata=OURS)
    try:
        assert volumes_settled(real)
        found = real.cloud.leftovers()
        kinds = [LeftoverKind.FLOATING_IP, LeftoverKind.PORT, LeftoverKind.VOLUME]
        assert [item.kind for item in found] == kinds
        assert {item.vm for item in found} == {"gpu-1"}
        for item in found:
            real.cloud.remove(item)
        assert wait_until(lambda: real.tenancy.tenant.leftovers()[1:] == [], 60)
        for item in found:
            real.cloud.remove(item)
    finally:
        for address in network.ips(project_id=real.tenancy.tenant.project_id):
            network.delete_ip(address)


def test_a_port_that_nova_made_is_ours_when_its_server_is_gone(real: RealLab) -> None:
    """Nova removes its ports itself; where it fails to, the port still names a server that was seen."""
    server = real.boot(spec())
    real.cloud.delete(server.server_id)
    assert real.gone(server.server_id)
    with clouds.connect() as admin:
        orphan = admin.network.create_port(
            network_id=real.tenancy.network_id,
            project_id=real.tenancy.tenant.project_id,
            device_id=server.server_id,
            device_owner="compute:zone-b",
        )
    (found,) = real.cloud.leftovers()
    assert (found.leftover_id, found.vm) == (orphan.id, server.name)
    assert real.with_settings().leftovers() == ()
    real.cloud.remove(found)
    assert real.cloud.leftovers() == ()


def test_a_volume_that_nova_gave_up_on_is_claimed_before_its_server_goes(
    real: RealLab, tmp_path: Path
) -> None:
    """Nova waits minutes for a volume; the proxy tells the fault that it ends with."""
    server = real.cloud.create(spec())
    volume = real.tenancy.connection.block_storage.create_volume(size=1)
    message = (
        f"Build of instance 1 aborted: Volume {volume.id} did not finish being created even after we waited"
    )
    shown = real.raw("compute", f"/servers/{server.server_id}")["server"]
    failed = {**shown, "status": "ERROR", "fault": {"code": 500, "message": message}}
    with FaultyProxy(f"{url('nova-api')}/v2.1") as nova:
        cloud = real.through(tmp_path, compute=nova)
        nova.rule("GET", f"/servers/{server.server_id}$", status=200, body={"server": failed})
        cloud.delete(server.server_id)
    assert real.gone(server.server_id)
    assert volumes_settled(real)
    assert [(item.leftover_id, item.vm) for item in real.with_settings().leftovers()] == [
        (volume.id, server.name)
    ]


def test_what_a_create_call_has_made_and_waits_for_is_no_leftover(real: RealLab) -> None:
    vm = new_vm()
    real.abandon_port(vm)
    assert [item.vm for item in real.cloud.leftovers()] == [vm]
    with real.cloud._in_progress(vm):  # type: ignore[attr-defined]
        assert real.cloud.leftovers() == ()
    assert [item.vm for item in real.cloud.leftovers()] == [vm]


def test_a_keypair_is_refused_as_none_is_ever_made(real: RealLab) -> None:
    with pytest.raises(PortError, match="makes none"):
        real.cloud.remove(left(LeftoverKind.KEYPAIR, "gpu-1"))
