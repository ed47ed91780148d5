"""Wrong input: one clear error with place and remedy of every fault, and nothing was created.

A run of the engine takes seconds and reports all faults that can be met at once, so each run has several.
"""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
import yaml

from localcloud.paths import state_home
from localcloud.world import World
from stack.live import LiveStack, cli, forge_config, forge_owners, live_stack
from stack.tls import untrusted_server

pytestmark = [pytest.mark.localcloud, pytest.mark.engine]

Change = Callable[[LiveStack], object]


def pool(**values: Any) -> Change:
    return lambda stack: stack.config["pools"][0].update(values)


def key(name: str, value: Any) -> Change:
    return lambda stack: stack.config.update({name: value})


def section(name: str, **values: Any) -> Change:
    """Change a section; a forge's is otherwise as it should be."""

    def change(stack: LiveStack) -> None:
        known = stack.config.get(name) or forge_config(stack)[name]
        stack.config[name] = {**known, **values}

    return change


def environment(**values: str) -> Change:
    return lambda stack: stack.environment.update(values)


def own_credential(**values: str) -> Change:
    """Give the stack a clouds.yaml of its own, with `values` in its credential."""

    def change(stack: LiveStack) -> None:
        entry = yaml.safe_load((state_home() / "clouds.yaml").read_text())["clouds"][stack.tenant.cloud]
        entry["auth"].update(values)
        path = stack.folder / "clouds.yaml"
        path.write_text(yaml.safe_dump({"clouds": {stack.tenant.cloud: entry}}))
        stack.environment["OS_CLIENT_CONFIG_FILE"] = str(path)

    return change


def few_rights(stack: LiveStack) -> None:
    """Swap both tokens for ones of users who may only read."""
    world = stack.world
    sims = {
        "GITLAB_TOKEN": (world.gitlab_url, "/_sim/users"),
        "GITHUB_TOKEN": (world.github_url, "/_sim/tokens"),
    }
    bodies = {
        "GITLAB_TOKEN": {"username": f"reader-{stack.owner}", "scopes": ["read_repository"]},
        "GITHUB_TOKEN": {"scopes": ["repo"]},
    }
    for variable, (url, path) in sims.items():
        headers = {"Authorization": f"Bearer {world.sim_token}"}
        answer = httpx.post(f"{url}{path}", json=bodies[variable], headers=headers, trust_env=False)
        stack.environment[variable] = answer.raise_for_status().json()["token"]


Fault = tuple[Change, list[str]]
"""What is wrong, and what one line of the error must say of it."""

RUNS: dict[str, list[Fault]] = {
    "configuration": [
        (pool(market="spott"), ["pools[0].market", "spott", "spot-then-on-demand"]),
        (section("gitlab"), []),
        (environment(GITLAB_TOKEN=""), ["gitlabToken", "pulumi config set --secret"]),
        (section("github"), []),
        (environment(GITHUB_WEBHOOK_SECRET=""), ["webhookSecret"]),
        (key("regionn", "x"), ["shadow-gpu-runners:regionn: unknown key"]),
    ],
    "what the cloud does not have": [
        (
            pool(flavor="edge-c4m6-gpu-2000-1"),
            ["pools[0].flavor", "edge-preemptible-c4m6-gpu-2000-1", "edge-preemptible-c4m16-gpu-2000-1"],
        ),
        (key("image", {"name": "ubunto"}), ["image.name", "ubunto", "ubuntu-22.04-cuda"]),
        (section("network", externalNetwork="x"), ["network.externalNetwork", "ext-net"]),
        (pool(volume={"type": "Gold"}), ["volume.type", "Gold", "Silver"]),
        (pool(zones=["zone-q"]), ["zones", "zone-q", "zone-a"]),
    ],
    "quota and refused tokens": [
        (pool(count=21), ["quota of instances", "need 21", "room for 20"]),
        (section("gitlab"), []),
        (environment(GITLAB_TOKEN="glpat-wrong"), ["gitlab", "401", "gitlabToken"]),
        (section("github"), []),
        (environment(GITHUB_TOKEN="ghp_wrong"), ["github", "401", "githubToken"]),
    ],
    "wrong region and too few rights": [
        (key("region", "FRSBG01"), ["FRSBG01", "LOCAL01"]),
        (section("gitlab"), ["gitlab", "403", "create_runner"]),
        (section("github"), ["github.owner", "403", "admin:org"]),
        (few_rights, []),
    ],
    "unknown cloud, project and organisation": [
        (key("cloud", "nowhere"), ["nowhere", "clouds.yaml"]),
        (section("gitlab", project="acme/none"), ["gitlab.project", "acme/none", "404"]),
        (section("github", owner="nobody"), ["github.owner", "nobody", "404"]),
    ],
    "refused credential and forges that are down": [
        # Keystone answers 401 alike to a wrong, an expired and a deleted credential.
        (
            own_credential(application_credential_secret="expired"),
            ["credential was refused (401)", "expired", "application credential", "clouds.yaml"],
        ),
        (section("gitlab", url="http://127.0.0.1:9"), ["gitlab (http://127.0.0.1:9): no connection"]),
        (section("github", baseUrl="http://127.0.0.1:9"), ["github (http://127.0.0.1:9/api/v3): no conn"]),
    ],
    "inputs of the components": [
        (section("gitlab", tags=["x" * 300]), ["tags", "255"]),
        (section("gitlab", docker={"gpus": ["all"], "privileges": True}), ["docker.gpus", "string"]),
        (section("gitlab"), ["docker.privileges", "privileged"]),
        (section("github", labels=["x" * 300]), ["labels", "256"]),
        (section("network", cidr="10.42.0.0/30"), ["cidr", "10.42.0.0/30"]),
        (pool(count=5), []),
    ],
    "a CIDR that is no network": [
        (section("network", cidr="10.42.0.7/24"), ["cidr", "10.42.0.7/24", "10.42.0.0/24"])
    ],
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, world: World) -> Any:
    with live_stack(tmp_path_factory.mktemp("wrong"), world) as made, forge_owners(made):
        yield made


@pytest.fixture
def broken(shared: LiveStack) -> Iterator[LiveStack]:
    """The shared stack, whose configuration is put back afterwards."""
    config, known = yaml.safe_load(yaml.safe_dump(shared.config)), dict(shared.environment)
    yield shared
    shared.config, shared.environment = config, known


@pytest.mark.parametrize("run", RUNS)
def test_wrong_input_gives_one_error_and_creates_nothing(run: str, broken: LiveStack) -> None:
    for change, _ in RUNS[run]:
        change(broken)
    refused(broken, [expected for _, expected in RUNS[run] if expected])


def refused(stack: LiveStack, faults: list[list[str]]) -> None:
    done = cli(stack, "up", "--yes", "--stack", stack.select(), check=False)
    text = done.stdout + done.stderr
    assert done.returncode != 0, text
    assert "Traceback" not in text, text
    lines = text.splitlines()
    for expected in faults:
        assert any(all(part in line for part in expected) for line in lines), (expected, text)
    assert stack.tenant.leftovers() == []


def test_a_tls_failure_names_the_certificate_bundle(broken: LiveStack) -> None:
    with untrusted_server(broken.folder) as port:
        own_credential(auth_url=f"https://127.0.0.1:{port}/v3")(broken)
        refused(broken, [["TLS failed", "cacert"]])
