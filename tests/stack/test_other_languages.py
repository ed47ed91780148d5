"""The components from YAML and TypeScript, run by a tenant on the local cloud."""

import json
import secrets
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest

from localcloud.openstack import tenants
from localcloud.world import World
from stack import other_languages

pytestmark = [pytest.mark.localcloud, pytest.mark.engine, pytest.mark.slow]


@dataclass(frozen=True, slots=True)
class Program:
    """An example and the tenant that runs it, with a state of its own."""

    folder: Path
    tenant: tenants.Tenant
    environment: dict[str, str]

    def pulumi(self, *arguments: str) -> str:
        """Run pulumi on the program's stack; return its standard output."""
        done = subprocess.run(
            ["pulumi", "--non-interactive", *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(params=["yaml", "typescript"])
def program(request: pytest.FixtureRequest, tmp_path: Path, world: World) -> Iterator[Program]:
    folder = other_languages.workspace(request.param, tmp_path)
    tenant = tenants.make(f"t-{secrets.token_hex(3)}")
    (folder / "Pulumi.test.yaml").write_text(f"config: {{example-{request.param}:cloud: {tenant.cloud}}}\n")
    environment = {
        **other_languages.environment(),
        **world.environment(tenant.cloud),
        "PULUMI_BACKEND_URL": f"file://{tmp_path}",
        "PULUMI_CONFIG_PASSPHRASE": secrets.token_hex(8),
    }
    try:
        yield Program(folder, tenant, environment)
    finally:
        tenant.delete()


def test_a_program_previews_creates_and_destroys(program: Program) -> None:
    program.pulumi("stack", "init", "test")
    planned = json.loads(program.pulumi("preview", "--json"))
    assert "openstack:compute/instance:Instance" in {
        step["newState"]["type"] for step in planned["steps"] if step["op"] == "create"
    }
    program.pulumi("up", "--yes", "--skip-preview")
    with program.tenant.connect() as connection:
        (server,) = connection.compute.servers()
    outputs = json.loads(program.pulumi("stack", "output", "--json"))
    (network,) = server.addresses.values()
    assert server.status == "ACTIVE"
    assert outputs["addresses"] == {server.name: network[0]["addr"]}, outputs
    assert Decimal(outputs["eurPerHour"]) > 0
    program.pulumi("destroy", "--yes", "--skip-preview")
    assert program.tenant.leftovers() == []
