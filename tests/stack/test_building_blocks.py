"""What the stack's own program does not use of the components, on the real engine and the real cloud."""

import hashlib
import json
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from localcloud.paths import repository
from localcloud.world import ADMIN_CLOUD, World
from stack.live import engine_environment
from stack.programs import Program, tenants_program

pytestmark = [pytest.mark.localcloud, pytest.mark.engine]
FLAVOR = "own-c2m6-gpu-2000-1"
PROGRAM = Path(__file__).with_name("blocks")


@pytest.fixture
def blocks(tmp_path: Path, world: World) -> Iterator[Program]:
    folder, image = tmp_path / "program", tmp_path / "image.raw"
    shutil.copytree(PROGRAM, folder)
    project = yaml.safe_load((folder / "Pulumi.yaml").read_text())
    project["runtime"]["options"]["virtualenv"] = str(repository() / ".venv")
    (folder / "Pulumi.yaml").write_text(yaml.safe_dump(project))
    image.write_bytes(secrets.token_bytes(1_000_000))
    digest = hashlib.sha256(image.read_bytes()).hexdigest()
    config = {"file": str(image), "checksum": f"sha256:{digest}", "operator": ADMIN_CLOUD, "flavor": FLAVOR}
    with tenants_program(folder, world, engine_environment(), **config) as made:
        yield made


def test_made_flavors_an_upload_a_generated_key_zones_and_public_addresses(blocks: Program) -> None:
    blocks.pulumi("stack", "init", "test")
    blocks.pulumi("up", "--yes", "--skip-preview")
    shown = json.loads(blocks.pulumi("stack", "output", "--json"))
    assert shown["privateKey"] == "[secret]"
    with blocks.tenant.connect() as connection:
        flavors = {flavor.id: flavor for flavor in connection.compute.flavors() if "c2m6" in flavor.name}
        image = connection.image.get_image(shown["image"])
        servers = {server.name: server for server in connection.compute.servers()}
        public = {address.floating_ip_address for address in connection.network.ips()}
    assert {flavor.name: key for key, flavor in flavors.items()} == shown["flavors"]
    assert {(flavor.vcpus, flavor.ram, flavor.disk) for flavor in flavors.values()} == {(2, 6 * 1024, 0)}
    assert (image.name, image.status, image.size) == ("uploaded", "active", 1_000_000)
    assert {name: server.availability_zone for name, server in servers.items()} == {
        "block-01": "zone-a",
        "block-02": "zone-b",
    }
    assert {server.key_name for server in servers.values()} == {shown["key"]}
    assert set(shown["public"].values()) == public
    assert len(public) == 2
    assert "unchanged" in blocks.pulumi("up", "--yes", "--skip-preview", "--expect-no-changes")
    blocks.pulumi("destroy", "--yes", "--skip-preview")
    assert blocks.tenant.leftovers() == []
    with blocks.tenant.connect() as connection:
        assert connection.compute.find_flavor(FLAVOR) is None
