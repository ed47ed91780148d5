"""The components from YAML and TypeScript, run by a tenant on the local cloud."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from localcloud.world import World
from stack import other_languages
from stack.programs import Program, tenants_program

pytestmark = [pytest.mark.localcloud, pytest.mark.engine, pytest.mark.slow]


@pytest.fixture(params=["yaml", "typescript"])
def program(request: pytest.FixtureRequest, tmp_path: Path, world: World) -> Iterator[Program]:
    folder = other_languages.workspace(request.param, tmp_path)
    with tenants_program(folder, world, other_languages.environment()) as made:
        yield made


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
