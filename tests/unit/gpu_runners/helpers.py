"""What the component tests share."""

from collections.abc import Callable, Mapping
from typing import Any

import pulumi
import pulumi_openstack as openstack

from shadow_gpu_runners.testing import Invocation, Recording, Registration, record

EXISTING = {"boost-c8m32-gpu-a4500-1", "boost-preemptible-c8m32-gpu-a4500-1", "edge-c4m16-gpu-2000-1"}


def cloud(call: Invocation) -> Mapping[str, Any]:
    """Answer look-ups as a cloud with the flavors `EXISTING` does."""
    if call.token.endswith(":getFlavor") and call.args["name"] not in EXISTING:
        raise RuntimeError(
            "Your query returned no results. Please change your search criteria and try again."
        )
    return {"id": f"id-of-{call.args.get('name', 'one')}", "name": call.args.get("name", "one")}


def computed(resource: Registration) -> Mapping[str, Any]:
    """Compute what the cloud would."""
    if resource.type.endswith(":Port"):
        return {"allFixedIps": ["10.20.0.7"]}
    if resource.type.endswith(":FloatingIp"):
        return {"address": "203.0.113.7"}
    return {}


def run(make: Callable[[pulumi.ResourceOptions], Any], *, preview: bool = False) -> Recording:
    """Record `make`, given options with an explicit provider."""

    def program() -> Any:
        provider = openstack.Provider("cloud", auth_url="http://127.0.0.1:5000/v3")
        make(pulumi.ResourceOptions(provider=provider))

    return record(program, answer=cloud, outputs=computed, preview=preview)


def faults(error: pulumi.InputPropertiesError) -> set[str]:
    """Return the property paths that `error` names."""
    return {fault["property_path"] for fault in error.errors or []}
