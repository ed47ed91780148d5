"""With the access rules alone everything works, nothing else does, and no rule is there for nothing."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from contract.autoscaler.cloud.labs import DEPLOYMENT, RealLab, machines, new_vm, spec
from contract.autoscaler.cloud.test_ownership import OURS, described

from localcloud.openstack import clouds, tenants
from localcloud.openstack.lab import Lab as Tenancy
from localcloud.processes import wait_until
from shadow_autoscaler.adapters.openstack import OpenStackCloud, OpenStackSettings
from shadow_autoscaler.adapters.openstack_access_rules import ACCESS_RULES, AccessRule, access_rules
from shadow_autoscaler.adapters.openstack_session import Call, Session
from shadow_autoscaler.core.faults import FailureKind, PortError
from shadow_autoscaler.core.machines import ServerStatus

pytestmark = [pytest.mark.localcloud, pytest.mark.slow]

NAME = "contract-access-rules"


@pytest.fixture
def restricted() -> Iterator[RealLab]:
    """A tenant whose credential may make the listed calls only; what it cannot make is there already."""
    if NAME in clouds.entries():
        tenants.make(NAME)
        tenants.find(NAME).delete()
    with Tenancy.open(tenants.make(NAME)).connection as full:
        network = full.network
        lab = next(iter(network.networks(name="lab")))
        external = network.find_network("ext-net", ignore_missing=False)
        network.create_port(network_id=lab.id, description=described(OURS))
        network.create_ip(floating_network_id=external.id, description=described(OURS))
        volume = full.block_storage.create_volume(size=1, metadata=OURS)
        assert wait_until(lambda: full.block_storage.get_volume(volume.id).status == "available", 60)
        # What a server leaves that never got as far as attaching its volume.
        body = {
            "attachment": {"volume_uuid": volume.id, "instance_uuid": "00000000-0000-4000-8000-000000000000"}
        }
        reserve = full.block_storage.post("/attachments", json=body, microversion="3.27")
        assert reserve.status_code == 200, reserve.text
    tenant = tenants.make(NAME, access_rules=access_rules())
    pools = machines("lab")
    settings = OpenStackSettings(
        DEPLOYMENT, NAME, pools["local"], pools=pools, clouds_file=str(clouds.path()), unlock=True
    )
    yield RealLab(Tenancy(tenant, tenant.connect(), "", "", ""), OpenStackCloud(settings), settings)
    tenants.make(NAME)
    tenant.delete()


def used(rule: AccessRule, calls: list[Call]) -> bool:
    pattern = re.escape(rule.path).replace(r"\*", "[^/]+")
    return any(
        (call.service, call.method) == (rule.service, rule.method) and re.fullmatch(pattern, call.path)
        for call in calls
    )


def test_the_rules_are_enough_and_none_is_too_much(
    restricted: RealLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Call] = []
    send = Session._send

    def recording(self: Session, call: Call) -> object:
        calls.append(call)
        return send(self, call)

    monkeypatch.setattr(Session, "_send", recording)
    cloud = restricted.cloud
    servers = [cloud.create(spec(new_vm(), pool=pool)) for pool in ("port", "disk", "nova-disk")]
    for server in servers:
        running = restricted.settled(server)
        assert running.status is ServerStatus.ACTIVE, running.fault
    left = cloud.leftovers()
    assert [item.vm for item in left] == ["gpu-1"] * 3
    for item in left:
        cloud.remove(item)
    assert cloud.quota().ports is not None
    cloud.console(servers[0].server_id)
    with pytest.raises(PortError, match="availability zone"):
        cloud.create(spec(zone="zone-z"))
    for server in servers:
        cloud.delete(server.server_id)
        assert restricted.gone(server.server_id)
    assert [rule for rule in ACCESS_RULES if not used(rule, calls)] == []


def test_other_calls_are_refused(restricted: RealLab) -> None:
    compute = restricted.tenancy.connection
    assert compute.network.post("/networks", json={"network": {"name": "not-allowed"}}).status_code == 401
    assert compute.compute.post("/os-keypairs", json={"keypair": {"name": "not-allowed"}}).status_code == 401
    assert compute.compute.get("/servers/detail").status_code == 200


def test_a_call_that_the_rules_forbid_says_that_they_may_be_the_reason(real: RealLab) -> None:
    tenants.make(NAME, access_rules=[rule for rule in access_rules() if rule["method"] != "POST"])
    try:
        limited = OpenStackCloud(replace(real.settings, cloud=NAME))
        assert limited.servers() == ()
        with pytest.raises(PortError, match="access rules do not allow this call") as caught:
            limited.create(replace(spec(), pool="disk"))
        assert caught.value.failure.kind is FailureKind.AUTH
    finally:
        tenants.make(NAME)
        tenants.find(NAME).delete()
