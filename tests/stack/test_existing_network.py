"""An existing network: used as it is, or taken over by import."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from stack.live import LiveStack, cli

pytestmark = [pytest.mark.localcloud, pytest.mark.engine]


def test_an_existing_network_is_used_and_outlives_the_stack(stack: LiveStack) -> None:
    with stack.tenant.connect() as connection:
        network = connection.network.create_network(name="ours")
        subnet = connection.network.create_subnet(
            network_id=network.id, name="ours", ip_version=4, cidr="10.9.0.0/24"
        )
    stack.config["network"] = {"networkId": network.id, "subnetId": subnet.id}
    stack.up()
    assert stack.outputs()["instances"][0]["address"].startswith("10.9.0.")
    stack.stack.destroy()
    assert [item.split()[0] for item in stack.tenant.leftovers()] == ["network"]
    with stack.tenant.connect() as connection:
        assert connection.network.get_subnet(subnet.id).cidr == "10.9.0.0/24"


def test_an_existing_network_is_imported_and_then_owned(stack: LiveStack) -> None:
    with stack.tenant.connect() as connection:
        network = connection.network.create_network(name="by-hand")
        subnet = connection.network.create_subnet(
            network_id=network.id, name="by-hand", ip_version=4, cidr="10.42.0.0/24"
        )
    file = stack.folder / "import.json"
    stack.stack.preview(import_file=str(file))
    _fill_in(file, {"network-network": network.id, "network-subnet": subnet.id})
    cli(
        stack,
        "import",
        "--yes",
        "--protect=false",
        "--generate-code=false",
        "--file",
        str(file),
        "-s",
        stack.name,
    )
    stack.up()
    with stack.tenant.connect() as connection:
        assert connection.network.get_network(network.id).name == "network"
    stack.stack.destroy()
    assert stack.tenant.leftovers() == []


def _fill_in(file: Path, ids: Mapping[str, str]) -> None:
    """Keep what is imported and what it hangs on: providers, components, and the resources in `ids`."""
    plan = json.loads(file.read_text())
    kept = [entry for entry in plan["resources"] if "id" not in entry or entry["name"] in ids]
    for entry in kept:
        if entry["name"] in ids and "id" in entry:
            entry["id"] = ids[entry["name"]]
    file.write_text(json.dumps({**plan, "resources": kept}))
