"""Instance groups: placement, options, secrets, ownership and every input fault at once."""

from typing import Any, cast

import pulumi
import pulumi_openstack as openstack
import pytest
from unit.gpu_runners.helpers import cloud, computed, faults, run

from shadow_gpu_runners import InstanceGroup, InstanceGroupArgs
from shadow_gpu_runners.testing import Recording, Registration, record

ARGS: InstanceGroupArgs = {
    "count": 3,
    "flavor": "boost-c8m32-gpu-a4500-1",
    "image_id": "image-1",
    "network_id": "network-1",
    "subnet_id": "subnet-1",
    "security_group_ids": ["group-1"],
}


def group(*, preview: bool = False, **changes: Any) -> Recording:
    args = cast("InstanceGroupArgs", {**ARGS, **changes})
    return run(lambda opts: InstanceGroup("ci", args, opts), preview=preview)


def servers(recording: Recording) -> list[Registration]:
    return recording.of_type("Instance")


def test_instances_and_ports_have_stable_explicit_names() -> None:
    recording = group()
    assert [vm.name for vm in servers(recording)] == ["ci-01", "ci-02", "ci-03"]
    assert [vm.inputs["name"] for vm in servers(recording)] == ["ci-01", "ci-02", "ci-03"]
    assert [port.inputs["name"] for port in recording.of_type("Port")] == ["ci-01", "ci-02", "ci-03"]
    assert recording.named("ci-02").inputs["networks"] == [{"port": "ci-02-port-id"}]


def test_scaling_down_leaves_the_others_as_they_were() -> None:
    three, two = (
        {vm.name: vm.inputs for vm in servers(group(count=count, max_unavailable=1))} for count in (3, 2)
    )
    assert two == {name: three[name] for name in ("ci-01", "ci-02")}


def test_another_prefix_names_servers_without_changing_urns() -> None:
    recording = group(name_prefix="gpu-runner")
    assert servers(recording)[0].name == "ci-01"
    assert servers(recording)[0].inputs["name"] == "gpu-runner-01"


def test_spot_is_the_default_and_the_twin_is_derived() -> None:
    assert {vm.inputs["flavorName"] for vm in servers(group())} == {"boost-preemptible-c8m32-gpu-a4500-1"}
    assert {vm.inputs["flavorName"] for vm in servers(group(market="on-demand"))} == {ARGS["flavor"]}


def test_fallback_moves_only_the_named_instances_to_on_demand() -> None:
    recording = group(market="spot-then-on-demand", on_demand_fallback=["ci-02"])
    assert [vm.inputs["flavorName"] for vm in servers(recording)] == [
        "boost-preemptible-c8m32-gpu-a4500-1",
        "boost-c8m32-gpu-a4500-1",
        "boost-preemptible-c8m32-gpu-a4500-1",
    ]


def test_it_boots_from_a_volume_that_goes_with_it() -> None:
    (device,) = servers(group(boot_volume={"size_gib": 50.0, "volume_type": "Silver"}))[0].inputs[
        "blockDevices"
    ]
    assert device == {
        "uuid": "image-1",
        "sourceType": "image",
        "destinationType": "volume",
        "bootIndex": 0,
        "volumeSize": 50,
        "volumeType": "Silver",
        "deleteOnTermination": True,
    }
    local = servers(group(local_disk=True))[0].inputs
    assert local["imageId"] == "image-1"
    assert "blockDevices" not in local


def test_replacement_is_safe_by_options() -> None:
    vm = servers(group())[0]
    assert vm.delete_before_replace
    assert {"flavorName", "imageId"} <= set(vm.replace_on_changes)
    assert vm.inputs["stopBeforeDestroy"] is True
    assert vm.timeouts == {"create": "20m", "delete": "20m"}


def test_half_of_the_group_waits_for_the_other_half() -> None:
    one, two, three = servers(group())
    assert one.urn in three.dependencies
    assert one.urn not in two.dependencies
    first, second, third = servers(group(max_unavailable=1))
    assert first.urn in second.dependencies
    assert second.urn in third.dependencies


def test_the_mark_is_in_the_create_calls() -> None:
    recording = group(metadata={"team": "ml"})
    assert servers(recording)[0].inputs["metadata"] == {
        "team": "ml",
        "shadow-gpu-runners.managed-by": "shadow-gpu-runners",
        "shadow-gpu-runners.deployment": "project.stack",
        "shadow-gpu-runners.component": "ci",
    }
    assert "deployment=project.stack" in recording.of_type("Port")[0].inputs["tags"]


def test_user_data_is_secret_even_when_given_in_plain_text() -> None:
    recording = group(user_data="#cloud-config\n# planted")
    assert all("userData" in vm.secrets for vm in servers(recording))


def test_children_use_the_provider_and_parent_of_the_component() -> None:
    recording = group(floating_ip_pool="ext-net")
    component = recording.named("ci")
    children = [known for known in recording.resources if known.custom and known.name != "cloud"]
    assert {known.parent for known in children} == {component.urn}
    assert all("::cloud::" in known.provider for known in children)
    assert all("::cloud::" in call.provider for call in recording.invocations)
    assert component.inputs == {}


def test_zones_are_taken_in_turn() -> None:
    zones = [vm.inputs["availabilityZone"] for vm in servers(group(zones=["zone-a", "zone-b"]))]
    assert zones == ["zone-a", "zone-b", "zone-a"]


@pytest.mark.parametrize(
    ("choice", "policy"), [("soft", "soft-anti-affinity"), ("strict", "anti-affinity"), ("none", None)]
)
def test_anti_affinity(choice: str, policy: str | None) -> None:
    recording = group(anti_affinity=choice)
    assert [known.inputs["policies"] for known in recording.of_type("ServerGroup")] == (
        [policy] if policy else []
    )
    assert ("schedulerHints" in servers(recording)[0].inputs) == (policy is not None)


def test_outputs() -> None:
    outputs = group(floating_ip_pool="ext-net", count=2).outputs_of("ci")
    assert outputs["names"] == ["ci-01", "ci-02"]
    assert outputs["instanceIds"] == {"ci-01": "ci-01-id", "ci-02": "ci-02-id"}
    assert outputs["addresses"] == {"ci-01": "10.20.0.7", "ci-02": "10.20.0.7"}
    assert outputs["floatingAddresses"] == {"ci-01": "203.0.113.7", "ci-02": "203.0.113.7"}
    assert outputs["hourlyPrice"] == "0.70"
    assert outputs["monthlySpot"] == "511.00"
    assert outputs["monthlyOnDemand"] == "851.62"
    assert "assumed" in outputs["priceNote"]


def test_a_flavor_without_a_price_is_unknown_not_free() -> None:
    outputs = group(flavor="edge-c4m16-gpu-2000-1", market="on-demand", spot_rule="prefix:spot.").outputs_of(
        "ci"
    )
    assert outputs["monthlySpot"] == "unknown"
    priced = group(market="on-demand", prices={"boost-c8m32-gpu-a4500-1": "0.5"}).outputs_of("ci")
    assert priced["hourlyPrice"] == "1.5"


def test_an_empty_group_is_free() -> None:
    outputs = group(count=0).outputs_of("ci")
    assert outputs["names"] == []
    assert outputs["instanceIds"] == {}
    assert outputs["hourlyPrice"] == "0"


def test_every_fault_is_reported_together() -> None:
    with pytest.raises(pulumi.InputPropertiesError) as caught:
        group(
            count=-1,
            flavor="boost-preemptible-c8m32-gpu-a4500-1",
            market="cheap",
            on_demand_fallback=["ci-09"],
            name_prefix="GPU runner",
            boot_volume={"size_gib": 0},
            local_disk=True,
            anti_affinity="hard",
            max_unavailable=0,
            security_group_ids=[],
            create_timeout="soon",
            prices={"x": "cheap"},
            metadata={"shadow-gpu-runners.deployment": "mine"},
            spot_rule="magic",
            user_data="x" * 60_000,
        )
    assert faults(caught.value) == {
        "count",
        "flavor",
        "market",
        "onDemandFallback",
        "onDemandFallback[0]",
        "namePrefix",
        "bootVolume.sizeGib",
        "localDisk",
        "antiAffinity",
        "maxUnavailable",
        "securityGroupIds",
        "createTimeout",
        "prices.x",
        "metadata.shadow-gpu-runners.deployment",
        "spotRule",
        "userData",
    }
    assert "xxx" not in str(caught.value)


def test_late_user_data_is_checked_once_known() -> None:
    with pytest.raises(pulumi.InputPropertiesError, match="not 80000"):
        group(user_data=pulumi.Output.from_input("x" * 60_000))


@pytest.mark.parametrize("preview", [False, True])
def test_a_flavor_that_does_not_exist_fails_with_near_matches_that_do(preview: bool) -> None:
    with pytest.raises(pulumi.InputPropertiesError) as caught:
        group(flavor="boost-c8m32-gpu-a4500-2", market="on-demand", preview=preview)
    assert "near matches that exist: boost-c8m32-gpu-a4500-1" in str(caught.value)
    assert "boost-c16m64-gpu-a4500-2" not in str(caught.value)


def test_ids_from_gpu_flavors_take_the_place_of_the_look_up() -> None:
    name = "boost-preemptible-c8m32-gpu-a4500-1"
    recording = group(flavor_ids={name: "id-1"})
    assert not recording.invocations
    assert servers(recording)[0].inputs["flavorName"] == name


@pytest.mark.parametrize("state", ["active", "shutoff", None])
def test_a_server_in_another_state_is_taken_as_it_is(state: str | None) -> None:
    recording = with_power_state(state)
    assert recording.outputs_of("ci")["instanceIds"]["ci-02"] == "ci-02-id"


def test_a_server_in_error_fails_the_run_with_the_way_out(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(pulumi.RunError, match="ci-02 is not usable"):
        with_power_state("error")
    assert "`openstack server show -c fault ci-02-id`" in caplog.text
    assert "`pulumi up --replace '**::ci-02'`" in caplog.text


def with_power_state(state: str | None) -> Recording:
    def outputs(resource: Registration) -> dict[str, Any]:
        return {"powerState": state} if resource.name == "ci-02" and state else dict(computed(resource))

    return record(lambda: InstanceGroup("ci", ARGS), answer=cloud, outputs=outputs)


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"count": float("nan")}, "count"),
        ({"count": float("inf")}, "count"),
        ({"count": "3"}, "count"),
        ({"count": None}, "count"),
        ({"count": True}, "count"),
        ({"name_prefix": 5}, "namePrefix"),
        ({"user_data": None}, "userData"),
        ({"flavor": None}, "flavor"),
        ({"flavour": "edge"}, "flavour"),
        ({"boot_volume": 5}, "bootVolume"),
        ({"boot_volume": {"size_gib": float("nan")}}, "bootVolume.size_gib"),
        ({"prices": {"a": None}}, "prices"),
        ({"prices": {"a": "1e30"}}, "prices.a"),
        ({"create_timeout": 5}, "createTimeout"),
        ({"zones": ["a", 5]}, "zones"),
        ({"security_group_ids": "group-1"}, "securityGroupIds"),
    ],
)
def test_keys_and_kinds_are_checked_without_a_type_checker(changes: dict[str, Any], path: str) -> None:
    with pytest.raises(pulumi.InputPropertiesError) as caught:
        group(**changes)
    assert faults(caught.value) == {path}


def test_user_data_of_a_wrong_kind_is_not_shown() -> None:
    with pytest.raises(pulumi.InputPropertiesError, match="not shown") as caught:
        group(user_data=["planted"])
    assert "planted" not in str(caught.value)


@pytest.mark.parametrize("missing", ["count", "flavor", "image_id"])
def test_a_missing_input_is_named(missing: str) -> None:
    args = cast("InstanceGroupArgs", {key: value for key, value in ARGS.items() if key != missing})
    with pytest.raises(pulumi.InputPropertiesError, match="missing, expected"):
        run(lambda opts: InstanceGroup("ci", args, opts))


def test_a_sequence_need_not_be_a_list() -> None:
    assert len(servers(group(security_group_ids=("group-1", pulumi.Output.from_input("group-2"))))) == 3


def two_groups(first: dict[str, Any], second: dict[str, Any], *, apart: bool = False) -> Recording:
    def program() -> None:
        clouds = [openstack.Provider(f"cloud-{n}", auth_url="http://127.0.0.1:5000/v3") for n in range(2)]
        for number, (name, changes) in enumerate({"blue": first, "green": second}.items()):
            args = cast("InstanceGroupArgs", {**ARGS, **changes})
            provider = clouds[number if apart else 0]
            InstanceGroup(name, args, pulumi.ResourceOptions(provider=provider))

    return record(program, answer=cloud, outputs=computed)


def test_two_groups_may_not_give_servers_the_same_names() -> None:
    shared = {"name_prefix": "runner", "count": 2}
    with pytest.raises(pulumi.InputPropertiesError) as caught:
        two_groups(shared, {**shared, "market": "sport"})
    assert faults(caught.value) == {"namePrefix", "market"}
    for part in (
        "InstanceGroup 'green'",
        "InstanceGroup 'blue' has runner-01, runner-02",
        "another namePrefix",
    ):
        assert part in str(caught.value)


def test_the_same_names_are_right_in_two_clouds_or_where_one_group_is_empty() -> None:
    shared = {"name_prefix": "runner"}
    assert len(servers(two_groups(shared, shared, apart=True))) == 6
    assert len(servers(two_groups({**shared, "count": 0}, shared))) == 3
    # A second run of a program in the same process starts anew.
    assert len(servers(two_groups({**shared, "count": 0}, shared))) == 3


def test_metadata_and_mark_that_the_cloud_refuses_are_refused_at_preview() -> None:
    with pytest.raises(pulumi.InputPropertiesError) as caught:
        group(metadata={"note": "x" * 256, "k" * 256: "v", "fits": "x" * 255}, deployment="a/b,c")
    assert faults(caught.value) == {"metadata.note", f"metadata.{'k' * 20}…", "deployment"}
    assert "at most 255 characters, not 256" in str(caught.value)
    assert "xxx" not in str(caught.value)


def test_metadata_that_is_known_later_is_checked_then() -> None:
    with pytest.raises(pulumi.InputPropertiesError, match="at most 255 characters, not 300"):
        group(metadata={"note": pulumi.Output.from_input("x" * 300)})


@pytest.mark.parametrize(
    ("changes", "paths"),
    [
        (
            {"count": pulumi.Output.from_input(3), "flavor": pulumi.Output.from_input("x")},
            {"count", "flavor"},
        ),
        ({"zones": ["a", pulumi.Output.from_input("b")]}, {"zones"}),
        ({"boot_volume": {"size_gib": pulumi.Output.from_input(3)}}, {"bootVolume.size_gib"}),
    ],
)
def test_an_output_where_a_plain_value_is_needed_is_named(changes: dict[str, Any], paths: set[str]) -> None:
    with pytest.raises(
        pulumi.InputPropertiesError, match="known while the program runs, not an output"
    ) as caught:
        group(**changes)
    assert faults(caught.value) == paths
