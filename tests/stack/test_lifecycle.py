"""`pulumi up` from nothing to nothing: made, unchanged, repaired, scaled, replaced, destroyed."""

import pytest
from pulumi import automation

from stack.live import LiveStack

pytestmark = [pytest.mark.localcloud, pytest.mark.engine]


def changes(result: automation.UpResult) -> dict[str, int]:
    counts = result.summary.resource_changes or {}
    return {str(operation): count for operation, count in counts.items() if operation != "same"}


def set_pool(stack: LiveStack, **values: object) -> None:
    stack.config["pools"][0].update(values)


PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGEgdGVzdCBrZXkgb2YgZXhhY3RseSAzMiBieXRlcyEh ci@example"


def test_up_makes_everything_a_second_up_changes_nothing_and_destroy_leaves_nothing(stack: LiveStack) -> None:
    stack.config["sshPublicKey"] = PUBLIC_KEY
    assert changes(stack.up()).keys() == {"create"}
    outputs = stack.outputs()
    assert [entry["name"] for entry in outputs["instances"]] == ["gpu-01"]
    assert outputs["instances"][0]["flavor"] == "edge-preemptible-c4m16-gpu-2000-1"
    assert outputs["monthlyCost"]["EUR per month, all spot"] == "211.70"
    assert changes(stack.up(expect_no_changes=True)) == {}
    stack.stack.destroy()
    assert stack.tenant.leftovers() == []


def test_what_was_made_carries_the_mark_and_boots_from_a_volume_that_goes_with_it(stack: LiveStack) -> None:
    stack.up()
    with stack.tenant.connect() as connection:
        server = next(iter(connection.compute.servers()))
        port = next(iter(connection.network.ports(device_id=server.id)))
        volume = connection.block_storage.get_volume(server.attached_volumes[0]["id"])
    mark = f"shadow-gpu-runners.{stack.name}"
    assert server.metadata["shadow-gpu-runners.deployment"] == mark
    assert f"deployment={mark}" in port.tags
    assert (volume.size, volume.volume_type) == (100, "Wood")
    assert server.attached_volumes[0]["delete_on_termination"] is True


def test_scaling_down_and_up_again_touches_only_the_last_instance(stack: LiveStack) -> None:
    set_pool(stack, count=3)
    stack.up()
    three = stack.servers()
    assert sorted(three) == ["gpu-01", "gpu-02", "gpu-03"]
    set_pool(stack, count=2)
    stack.up()
    assert stack.servers() == {name: three[name] for name in ("gpu-01", "gpu-02")}
    set_pool(stack, count=3)
    stack.up()
    again = stack.servers()
    assert (again["gpu-01"], again["gpu-02"]) == (three["gpu-01"], three["gpu-02"])
    assert again["gpu-03"] != three["gpu-03"]


def test_from_spot_to_on_demand_replaces_the_instance_and_keeps_its_address(stack: LiveStack) -> None:
    stack.up()
    before, spot = stack.servers(), stack.outputs()["instances"][0]
    set_pool(stack, market="on-demand")
    assert changes(stack.up()) == {"replace": 1}
    on_demand = stack.outputs()["instances"][0]
    assert on_demand["flavor"] == "edge-c4m16-gpu-2000-1"
    assert on_demand["address"] == spot["address"]
    assert stack.servers()["gpu-01"] != before["gpu-01"]


def test_another_image_replaces_each_instance_and_leaves_no_volume_behind(stack: LiveStack) -> None:
    set_pool(stack, count=2)
    stack.up()
    before = stack.servers()
    with stack.tenant.connect() as connection:
        connection.create_image("next", data=b"image", disk_format="raw", container_format="bare", wait=True)
    stack.config["image"] = {"name": "next"}
    assert changes(stack.up()) == {"replace": 2}
    after = stack.servers()
    assert after.keys() == before.keys()
    assert not set(after.values()) & set(before.values())
    with stack.tenant.connect() as connection:
        assert len(list(connection.block_storage.volumes())) == 2
        stack.stack.destroy()
        connection.delete_image("next")
    assert stack.tenant.leftovers() == []


def test_drift_made_by_hand_is_found_and_repaired(stack: LiveStack) -> None:
    set_pool(stack, count=2)
    stack.up()
    before = stack.servers()
    with stack.tenant.connect() as connection:
        connection.compute.delete_server(before["gpu-02"])
        connection.compute.wait_for_delete(connection.compute.get_server(before["gpu-02"]))
        group = next(iter(connection.network.security_groups(name="network")))
        rule = connection.network.create_security_group_rule(
            security_group_id=group.id,
            direction="ingress",
            protocol="tcp",
            port_range_min=22,
            port_range_max=22,
        )
        network = next(iter(connection.network.networks(name="network")))
        connection.network.update_network(network, name="renamed")
    stack.up(refresh=True)
    after = stack.servers()
    assert after["gpu-01"] == before["gpu-01"]
    assert after["gpu-02"] != before["gpu-02"]
    with stack.tenant.connect() as connection:
        assert [
            network.name for network in connection.network.networks(project_id=stack.tenant.project_id)
        ] == ["network"]
        # A rule that Pulumi never made is nobody's: it is reported by the policies, and goes with the group.
        assert connection.network.find_security_group_rule(rule.id) is not None
    stack.stack.destroy()
    assert stack.tenant.leftovers() == []
