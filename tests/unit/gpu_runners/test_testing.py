"""The recording stand-in sees what Pulumi's own mocks leave out."""

import pulumi
import pulumi_openstack as openstack
import pytest

from shadow_gpu_runners.testing import UNKNOWN, record


class Holder(pulumi.ComponentResource):
    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("shadow-gpu-runners:index:Holder", name, {}, opts)
        self.network = openstack.networking.Network(
            f"{name}-network",
            name=name,
            opts=pulumi.ResourceOptions(parent=self, delete_before_replace=True, protect=True),
        )
        self.keypair = openstack.compute.Keypair(
            f"{name}-key",
            public_key=pulumi.Output.secret("planted"),
            opts=pulumi.ResourceOptions(
                parent=self, depends_on=[self.network], ignore_changes=["public_key"]
            ),
        )
        self.register_outputs({"key": self.keypair.public_key, "networkId": self.network.id})


def holder() -> pulumi.Output[str]:
    provider = openstack.Provider("cloud", auth_url="http://127.0.0.1:5000/v3")
    return Holder("h", pulumi.ResourceOptions(provider=provider)).network.id


def test_options_are_recorded() -> None:
    recording = record(holder)
    network, key, component = (recording.named(n) for n in ("h-network", "h-key", "h"))
    assert network.parent == component.urn
    assert network.delete_before_replace
    assert network.protect
    assert "::cloud::" in network.provider
    assert network.urn in key.dependencies
    assert key.ignore_changes == ("publicKey",)
    assert recording.result == "h-network-id"


def test_secrets_are_plain_in_values_and_named_by_path() -> None:
    recording = record(holder)
    assert recording.named("h-key").inputs["publicKey"] == "planted"
    assert recording.named("h-key").secrets == {"publicKey"}
    assert recording.outputs_of("h") == {"key": "planted", "networkId": "h-network-id"}
    assert recording.secret_outputs[recording.named("h").urn] == {"key"}


def test_preview_leaves_computed_values_unknown() -> None:
    recording = record(holder, preview=True)
    assert recording.result is None
    assert recording.outputs_of("h") == {"key": "planted", "networkId": UNKNOWN}


def test_computed_outputs_come_from_the_hook() -> None:
    def program() -> pulumi.Output[str]:
        return openstack.networking.Network("n").region

    recording = record(program, outputs=lambda r: {"region": f"region of {r.name}"})
    assert recording.result == "region of n"


def test_invocations_show_the_provider() -> None:
    def program() -> pulumi.Output[str]:
        return openstack.compute.get_flavor_output(name="f").id

    recording = record(program, answer=lambda call: {"id": f"id-of-{call.args['name']}"})
    assert recording.result == "id-of-f"
    assert recording.invocations[0].token == "openstack:compute/getFlavor:getFlavor"
    assert not recording.invocations[0].provider


def test_a_fault_in_the_program_and_in_an_apply_surface() -> None:
    def program() -> None:
        raise ValueError("plain")

    def late() -> None:
        network = openstack.networking.Network("n")
        network.id.apply(lambda _: 1 / 0)

    with pytest.raises(ValueError, match="plain"):
        record(program)
    with pytest.raises(ZeroDivisionError):
        record(late)


def test_an_unknown_name_is_told_with_the_names_there_are() -> None:
    with pytest.raises(LookupError, match="'x'; there are: cloud, h, h-key, h-network"):
        record(holder).named("x")
