"""Programs other than the stack's, run from the command line by a tenant of their own."""

import secrets
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from localcloud.openstack import tenants
from localcloud.world import World


@dataclass(frozen=True, slots=True)
class Program:
    """A program's folder and the tenant that runs it, with a state of its own."""

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


@contextmanager
def tenants_program(
    folder: Path, world: World, engine: Mapping[str, str], **config: str
) -> Iterator[Program]:
    """Yield the program in `folder` with `config`, and `cloud` for a tenant that is removed at the end."""
    tenant = tenants.make(f"t-{secrets.token_hex(3)}")
    name = yaml.safe_load((folder / "Pulumi.yaml").read_text())["name"]
    values = {f"{name}:{key}": value for key, value in {"cloud": tenant.cloud, **config}.items()}
    (folder / "Pulumi.test.yaml").write_text(yaml.safe_dump({"config": values}))
    state = folder / "state"
    state.mkdir()
    environment = {
        **engine,
        **world.environment(tenant.cloud),
        "PULUMI_BACKEND_URL": f"file://{state}",
        "PULUMI_CONFIG_PASSPHRASE": secrets.token_hex(8),
    }
    try:
        yield Program(folder, tenant, environment)
    finally:
        tenant.delete()
