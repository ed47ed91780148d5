"""Runner networks: nothing in, listed traffic out, and every input fault at once."""

from typing import Any, cast

import pulumi
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.gpu_runners.helpers import faults, run

from shadow_gpu_runners import RunnerNetwork, RunnerNetworkArgs
from shadow_gpu_runners._addresses import NOT_FOR_INSTANCES, check_subnet
from shadow_gpu_runners._validation import Problems
from shadow_gpu_runners.testing import Recording


def network(**args: Any) -> Recording:
    return run(lambda opts: RunnerNetwork("ci", cast("RunnerNetworkArgs", args), opts))


def fresh(**changes: Any) -> Recording:
    return network(**{"cidr": "10.20.0.0/24", "external_network": "ext-net", **changes})


def allowed(recording: Recording) -> set[tuple[str, str, int | None, str]]:
    return {
        (
            r.inputs["direction"],
            r.inputs["protocol"],
            r.inputs.get("portRangeMin"),
            r.inputs["remoteIpPrefix"],
        )
        for r in recording.of_type("SecGroupRule")
    }


def test_nothing_comes_in_and_only_the_listed_goes_out() -> None:
    recording = fresh()
    assert recording.of_type("SecGroup")[0].inputs["deleteDefaultRules"] is True
    assert allowed(recording) == {
        ("egress", "tcp", 443, "0.0.0.0/0"),
        ("egress", "tcp", 80, "0.0.0.0/0"),
        ("egress", "udp", 53, "0.0.0.0/0"),
        ("egress", "tcp", 53, "0.0.0.0/0"),
        ("egress", "udp", 123, "0.0.0.0/0"),
    }


def test_an_own_list_keeps_the_way_to_the_metadata_service() -> None:
    recording = fresh(egress=[{"port": 443.0, "cidr": "203.0.113.0/24"}])
    assert allowed(recording) == {
        ("egress", "tcp", 443, "203.0.113.0/24"),
        ("egress", "tcp", 80, "169.254.169.254/32"),
    }


def test_rules_keep_their_names_when_the_list_is_reordered() -> None:
    rules = [{"port": 443}, {"protocol": "udp", "port": 53}, {"protocol": "icmp"}]
    names = [
        {r.name: dict(r.inputs) for r in fresh(egress=order).of_type("SecGroupRule")}
        for order in (rules, rules[::-1])
    ]
    assert names[0] == names[1]


def test_ssh_from_a_range() -> None:
    assert ("ingress", "tcp", 22, "198.51.100.0/24") in allowed(fresh(ssh_from=["198.51.100.0/24"]))


def test_ssh_from_anywhere_needs_an_explicit_word() -> None:
    with pytest.raises(pulumi.InputPropertiesError, match="sshFromAnywhere"):
        fresh(ssh_from=["0.0.0.0/0"])
    assert ("ingress", "tcp", 22, "0.0.0.0/0") in allowed(
        fresh(ssh_from=["0.0.0.0/0"], ssh_from_anywhere=True)
    )


def test_instances_wait_for_the_way_out_and_for_the_rules() -> None:
    recording = run(
        lambda opts: pulumi.export(
            "ids", RunnerNetwork("ci", {"cidr": "10.20.0.0/24", "external_network": "x"}, opts).network_id
        )
    )
    assert recording.outputs_of("ci")["networkId"] == "ci-network-id"
    assert recording.named("ci-router").inputs["externalNetworkId"] == "id-of-x"


def test_the_mark_is_on_everything_that_can_carry_it() -> None:
    recording = fresh(deployment="acme.prod")
    for token in ("Network", "Subnet", "Router", "SecGroup"):
        assert "deployment=acme.prod" in recording.of_type(token)[0].inputs["tags"]


def test_an_existing_network_gets_a_security_group_only() -> None:
    recording = network(network_id="net-1", subnet_id="sub-1")
    assert not recording.of_type("Network")
    assert not recording.of_type("Router")
    assert recording.of_type("SecGroup")
    assert recording.outputs_of("ci")["subnetId"] == "sub-1"


def test_an_existing_network_is_found_by_name_with_its_subnet() -> None:
    recording = network(network_name="shared")
    assert recording.outputs_of("ci")["networkId"] == "id-of-shared"
    assert recording.outputs_of("ci")["subnetId"] == "id-of-one"
    assert all("::cloud::" in call.provider for call in recording.invocations)


def test_an_existing_router_is_used() -> None:
    recording = network(cidr="10.20.0.0/24", router_id="router-1")
    assert not recording.of_type("Router")
    assert recording.of_type("RouterInterface")[0].inputs["routerId"] == "router-1"


def test_rules_are_deleted_before_they_are_replaced() -> None:
    assert all(rule.delete_before_replace for rule in fresh().of_type("SecGroupRule"))


def test_every_fault_is_reported_together() -> None:
    with pytest.raises(pulumi.InputPropertiesError) as caught:
        network(
            cidr="10.20.0.5/24",
            network_id="net-1",
            mtu=100,
            dns_servers=["nine"],
            avoid_cidrs=["x"],
            egress=[{"protocol": "gre"}, {"protocol": "icmp", "port": 1}, {"port": 9, "last_port": 2}],
            ssh_from=["0.0.0.0/0", "here"],
        )
    assert faults(caught.value) == {
        "cidr",
        "externalNetwork",
        "mtu",
        "dnsServers[0]",
        "avoidCidrs[0]",
        "egress[0].protocol",
        "egress[1].port",
        "egress[2].port",
        "sshFrom[0]",
        "sshFrom[1]",
    }
    assert "write '10.20.0.0/24'" in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cidr": "10.20.0.0/29", "instances": 4}, "room for 4 instance"),
        ({"cidr": "172.17.0.0/24"}, "Docker"),
        ({"cidr": "10.8.0.0/16", "avoid_cidrs": ["10.8.4.0/24"]}, "avoidCidrs"),
        ({"egress": [{"port": 443}, {"port": 443}]}, "remove the second"),
    ],
)
def test_faults_say_what_is_wrong(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(pulumi.InputPropertiesError, match=message):
        fresh(**changes)


def test_neither_new_nor_existing() -> None:
    with pytest.raises(pulumi.InputPropertiesError, match="cidr: missing"):
        network()


@given(prefix=st.integers(16, 32), instances=st.integers(1, 2000))
def test_a_range_is_refused_exactly_when_it_has_too_little_room(prefix: int, instances: int) -> None:
    problems = Problems("x")
    check_subnet(problems, "cidr", f"10.20.0.0/{prefix}", instances, [])
    assert bool(problems.found) == (2 ** (32 - prefix) - NOT_FOR_INSTANCES < instances)


@given(instances=st.integers(1, 2000))
def test_the_range_size_that_is_proposed_has_room(instances: int) -> None:
    problems = Problems("x")
    check_subnet(problems, "cidr", "10.20.0.0/32", instances, [])
    proposed = int(problems.found[0][1].rpartition("/")[2].split()[0])
    assert 2 ** (32 - proposed) - NOT_FOR_INSTANCES >= instances
    assert 2 ** (32 - proposed - 1) - NOT_FOR_INSTANCES < instances
