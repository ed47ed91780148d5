"""One stack of this program on the real engine, with a tenant and forge owners of its own."""

import os
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import gitlab
import httpx
import yaml
from pulumi import automation

from localcloud.openstack import tenants
from localcloud.paths import repository
from localcloud.world import World

Event = Callable[[automation.EngineEvent], Any]


@cache
def engine_environment(parts: str = "") -> dict[str, str]:
    """Return the environment of `scripts/engine --env`, with further `parts` such as `yaml,nodejs`."""
    options = f"--with {parts} --env" if parts else "--env"
    done = subprocess.run(
        ["bash", "-c", f'eval "$(scripts/engine {options})" && env -0'],
        cwd=repository(),
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(entry.split("=", 1) for entry in done.stdout.split("\0") if "=" in entry)


def _command(environment: Mapping[str, str]) -> automation.PulumiCommand:
    found = shutil.which("pulumi", path=environment["PATH"])
    assert found, "scripts/engine has put no pulumi on PATH"
    return automation.PulumiCommand(root=str(Path(found).parents[1]), skip_version_check=True)


@dataclass(slots=True)
class LiveStack:
    """A stack in a folder of its own; `config` holds the keys below `shadow-gpu-runners:`."""

    folder: Path
    tenant: tenants.Tenant
    world: World
    owner: str
    config: dict[str, Any]
    environment: dict[str, str]
    name: str = "test"
    _stack: automation.Stack | None = field(default=None, repr=False)

    def write(self) -> None:
        """Write the project file and the stack's configuration, keeping the stack's salt."""
        project = yaml.safe_load((repository() / "Pulumi.yaml").read_text())
        project["main"] = str(repository() / "infra")
        project["runtime"]["options"]["virtualenv"] = str(repository() / ".venv")
        (self.folder / "Pulumi.yaml").write_text(yaml.safe_dump(project))
        path = self.folder / f"Pulumi.{self.name}.yaml"
        known = yaml.safe_load(path.read_text()) if path.exists() else {}
        values = {f"shadow-gpu-runners:{key}": value for key, value in self.config.items()}
        known["config"] = {"pulumi:disable-default-providers": ["*"], **values}
        path.write_text(yaml.safe_dump(known))

    @property
    def stack(self) -> automation.Stack:
        """The automation handle; the configuration is written anew at each use."""
        self.write()
        if self._stack is None:
            options = automation.LocalWorkspaceOptions(
                work_dir=str(self.folder),
                env_vars=self.environment,
                pulumi_command=_command(self.environment),
            )
            self._stack = automation.create_or_select_stack(
                self.name, work_dir=str(self.folder), opts=options
            )
        return self._stack

    def select(self) -> str:
        """Make the stack where it is missing, for use by the command line; return its name."""
        return self.stack.name

    def up(self, **options: Any) -> automation.UpResult:
        """Run `pulumi up`."""
        return self.stack.up(color="never", suppress_progress=True, **options)

    def outputs(self) -> dict[str, Any]:
        """Return the stack's outputs as plain values."""
        return {name: output.value for name, output in self.stack.outputs().items()}

    def servers(self) -> dict[str, str]:
        """Return name → ID of every server in the tenant."""
        with self.tenant.connect() as connection:
            return {server.name: server.id for server in connection.compute.servers()}

    def gitlab(self) -> gitlab.Gitlab:
        """Return a client of the simulated GitLab."""
        return gitlab.Gitlab(self.world.gitlab_url, private_token=self.world.gitlab_token)

    def github(self, path: str) -> Any:
        """Return the answer of the simulated GitHub to `GET <path>`."""
        answer = httpx.get(
            f"{self.world.github_url}/api/v3{path}",
            headers={"Authorization": f"Bearer {self.world.github_token}"},
            trust_env=False,
        )
        answer.raise_for_status()
        return answer.json()


def default_config(tenant: tenants.Tenant, world: World) -> dict[str, Any]:
    """Return the smallest configuration: one spot instance, no forge."""
    return {
        "cloud": tenant.cloud,
        "region": world.region,
        "network": {"externalNetwork": "ext-net", "cidr": "10.42.0.0/24"},
        "image": {"name": "ubuntu-22.04-cuda"},
        "pools": [{"name": "gpu", "flavor": "edge-c4m16-gpu-2000-1", "market": "spot", "count": 1}],
    }


@contextmanager
def live_stack(
    folder: Path,
    world: World,
    *,
    quotas: Mapping[str, int] | None = None,
    controller: tenants.Rules | None = None,
) -> Iterator[LiveStack]:
    """Yield a stack that nothing else touches; what is left of it afterwards is removed.

    With rules for a `controller`, the entry `<tenant>-controller` of clouds.yaml may make those calls only.
    """
    suffix = secrets.token_hex(3)
    restricted = {} if controller is None else {f"t-{suffix}-controller": controller}
    tenant = tenants.make(f"t-{suffix}", quotas, restricted=restricted)
    backend = folder / "state"
    backend.mkdir()
    environment = {
        **engine_environment(),
        **world.environment(tenant.cloud),
        "PULUMI_BACKEND_URL": f"file://{backend}",
        "PULUMI_CONFIG_PASSPHRASE": secrets.token_hex(8),
        "PULUMI_ERROR_OUTPUT_STRING": "1",
        "GITHUB_WEBHOOK_SECRET": f"hook-{secrets.token_hex(12)}",
    }
    stack = LiveStack(folder, tenant, world, f"t-{suffix}", default_config(tenant, world), environment)
    try:
        yield stack
    finally:
        tenant.delete()
        shutil.rmtree(backend, ignore_errors=True)


def cli(stack: LiveStack, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run the real `pulumi` command line for the stack."""
    stack.write()
    done = subprocess.run(
        ["pulumi", *arguments],
        cwd=stack.folder,
        env={**os.environ, **stack.environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert not check or done.returncode == 0, (
        f"pulumi {arguments[0]}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    )
    return done


def github(world: World, method: str, path: str, body: Any = None) -> Any:
    """Call the simulated GitHub, with the control token below `/_sim`; return its answer."""
    token = world.sim_token if path.startswith("/_sim") else world.github_token
    headers = {"Authorization": f"Bearer {token}"}
    answer = httpx.request(method, f"{world.github_url}{path}", headers=headers, json=body, trust_env=False)
    answer.raise_for_status()
    return answer.json() if answer.content else None


@contextmanager
def forge_owners(stack: LiveStack) -> Iterator[None]:
    """Make a GitLab group and a GitHub organisation named `stack.owner`, each with a project `inference`."""
    client = stack.gitlab()
    group = client.groups.create({"name": stack.owner, "path": stack.owner})
    client.projects.create({"name": "inference", "path": "inference", "namespace_id": group.id})
    github(stack.world, "POST", "/_sim/accounts", {"login": stack.owner, "plan": "team"})
    github(stack.world, "POST", f"/api/v3/orgs/{stack.owner}/repos", {"name": "inference"})
    try:
        yield
    finally:
        group.delete()


def forge_config(stack: LiveStack) -> dict[str, Any]:
    """Return the configuration of both forges for what `forge_owners` made."""
    return {
        "gitlab": {"url": stack.world.gitlab_url, "project": f"{stack.owner}/inference"},
        "github": {
            "owner": stack.owner,
            "baseUrl": stack.world.github_url,
            "repositories": ["inference"],
            "webhook": {"url": "http://127.0.0.1:8940/github", "active": False},
        },
    }
