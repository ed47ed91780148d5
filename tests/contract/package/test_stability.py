"""What must not change unseen: logical names and types of resources, and the reference page."""

import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pulumi

from shadow_gpu_runners import (
    Autoscaler,
    GitHubRunnerGroup,
    GitLabRunner,
    GpuFlavors,
    InstanceGroup,
    RunnerImage,
    RunnerNetwork,
    SshKey,
)
from shadow_gpu_runners.plugin import COMPONENTS
from shadow_gpu_runners.testing import Invocation, Registration, record

URNS = Path(__file__).with_name("urns.json")
REFERENCE = Path(__file__).with_name("component_reference.py")


def answer(call: Invocation) -> Mapping[str, Any]:
    return {"id": "7", "name": str(call.args.get("name")), "repoId": 7}


CLOUD: dict[str, dict[str, Any]] = {
    "UserRunner": {"id": "42", "token": "glrt-planted"},
    "Image": {"checksum": "0" * 32, "properties": {}},
    "Port": {"allFixedIps": ["10.20.0.7"]},
    "FloatingIp": {"address": "203.0.113.7"},
    "Keypair": {"publicKey": "ssh-ed25519 A", "privateKey": "planted", "fingerprint": "00:11"},
}
"""What the cloud and the forges compute, by resource."""


def computed(resource: Registration) -> Mapping[str, Any]:
    return CLOUD.get(resource.type.rpartition(":")[2], {})


def program() -> None:
    machines()
    forges()
    controller()


def forges() -> None:
    GitLabRunner("runner", {"url": "https://gitlab.example", "project": "acme/inference", "tags": ["gpu"]})
    GitHubRunnerGroup(
        "group",
        {
            "group_name": "gpu",
            "visibility": "selected",
            "repositories": ["inference"],
            "variables": {"GPU": "a4500"},
            "webhook": {"url": "https://ci.example/webhook/github", "secret": "0123456789abcdefghij"},
        },
    )


def controller() -> None:
    Autoscaler(
        "ctl",
        {
            "url": "https://ci.example",
            "config": {"pools": [{"name": "a"}]},
            "user_data": {"a": "#cloud-config\n"},
            "secrets": {"callback-key": "k"},
            "clouds_yaml": "clouds: {}\n",
            "wheel": f"https://example.com/x.whl#sha256={'0' * 64}",
            "flavor": "edge-c2m4",
            "image_id": "i",
            "network_id": "n",
            "floating_ip_pool": "x",
            "ssh_from": ["198.51.100.0/24"],
        },
    )


def machines() -> None:
    RunnerNetwork("net", {"cidr": "10.20.0.0/24", "external_network": "x", "ssh_from": ["198.51.100.0/24"]})
    RunnerImage("img", {"upload": {"url": "https://images.example/x", "checksum": "md5:" + "0" * 32}})
    SshKey("key", {})
    GpuFlavors("sizes", {"wanted": ["edge-c4m16-gpu-2000-1"], "create": True})
    InstanceGroup(
        "gpu",
        {
            "count": 2,
            "flavor": "edge-c4m16-gpu-2000-1",
            "image_id": "i",
            "network_id": "n",
            "security_group_ids": [pulumi.Output.from_input("g")],
            "floating_ip_pool": "x",
        },
    )


def test_renaming_a_child_or_a_token_needs_an_alias() -> None:
    recording = record(program, answer=answer, outputs=computed)
    found = sorted(known.urn.partition("::project::")[2] for known in recording.resources)
    kept = json.loads(URNS.read_text(encoding="utf-8"))
    aliases = {name for known in recording.resources for name in known.aliases}
    lost = [urn for urn in kept if urn not in found and urn.rpartition("::")[2] not in aliases]
    assert not lost, "users' resources would be replaced: add aliases for the old names"
    assert found == kept, f"new resources are fine: add them to {URNS.name}"


def test_each_component_is_among_what_is_kept() -> None:
    kept = json.loads(URNS.read_text(encoding="utf-8"))
    shown = {
        urn.rpartition("::")[0].rpartition(":")[2] for urn in kept if urn.startswith("pulumi:pulumi:Stack$")
    }
    assert {component.__name__ for component in COMPONENTS} <= shown


def test_each_component_registers_every_output_that_it_documents() -> None:
    recording = record(program, answer=answer, outputs=computed)
    for component in COMPONENTS:
        (made,) = [known for known in recording.resources if known.type.endswith(f":{component.__name__}")]
        documented = {_camel(name) for name in component.__annotations__ if not name.startswith("_")}
        assert set(recording.component_outputs[made.urn]) == documented, component.__name__


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def test_the_reference_page_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("component_reference", REFERENCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text(encoding="utf-8") == module.render(), f"run python {REFERENCE.name}"
