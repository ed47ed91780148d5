"""Wrong input: one clear error with place and remedy, and nothing was created."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
import yaml

from localcloud.paths import state_home
from localcloud.world import World
from stack.live import LiveStack, cli, live_stack
from stack.tls import untrusted_server

pytestmark = [pytest.mark.localcloud, pytest.mark.engine]

Change = Callable[[LiveStack], object]


def pool(**values: Any) -> Change:
    return lambda stack: stack.config["pools"][0].update(values)


def key(name: str, value: Any) -> Change:
    return lambda stack: stack.config.update({name: value})


def network(**values: Any) -> Change:
    return lambda stack: stack.config["network"].update(values)


def gitlab(**values: Any) -> Change:
    def change(stack: LiveStack) -> None:
        stack.config["gitlab"] = {"url": stack.world.gitlab_url, "project": "acme/inference", **values}

    return change


def github(**values: Any) -> Change:
    def change(stack: LiveStack) -> None:
        owner = {"owner": "acme", "baseUrl": stack.world.github_url, "repositories": ["inference"]}
        stack.config["github"] = {**owner, **values}

    return change


def environment(**values: str) -> Change:
    return lambda stack: stack.environment.update(values)


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


CASES: dict[str, tuple[list[Change], list[str]]] = {
    "unknown flavor": (
        [pool(flavor="edge-c4m6-gpu-2000-1")],
        ["pools[0].flavor", "edge-preemptible-c4m6-gpu-2000-1", "edge-preemptible-c4m16-gpu-2000-1"],
    ),
    "CIDR too small": ([network(cidr="10.42.0.0/30"), pool(count=5)], ["cidr", "10.42.0.0/30"]),
    "CIDR not a network": ([network(cidr="10.42.0.7/24")], ["cidr", "10.42.0.7/24"]),
    "unknown image": ([key("image", {"name": "ubunto"})], ["image.name", "ubunto", "ubuntu-22.04-cuda"]),
    "unknown external network": ([network(externalNetwork="x")], ["network.externalNetwork", "ext-net"]),
    "unknown volume type": ([pool(volume={"type": "Gold"})], ["volume.type", "Gold", "Silver"]),
    "unknown zone": ([pool(zones=["zone-q"])], ["zones", "zone-q", "zone-a"]),
    "quota too low": ([pool(count=21)], ["quota of instances", "need 21", "room for 20"]),
    "wrong region": ([key("region", "FRSBG01")], ["FRSBG01", "LOCAL01"]),
    "unknown cloud": ([key("cloud", "nowhere")], ["nowhere", "clouds.yaml"]),
    "market misspelt": ([pool(market="spott")], ["pools[0].market", "spott", "spot-then-on-demand"]),
    "missing secret": (
        [gitlab(), environment(GITLAB_TOKEN="")],
        ["gitlabToken", "pulumi config set --secret"],
    ),
    "GitLab 401": ([gitlab(), environment(GITLAB_TOKEN="glpat-wrong")], ["gitlab", "401", "gitlabToken"]),
    "GitLab 403": ([gitlab(), few_rights], ["gitlab", "403", "create_runner"]),
    "GitHub 403": ([github(), few_rights], ["github.owner", "403", "admin:org"]),
    "label too long": ([github(labels=["x" * 300])], ["labels", "256"]),
    "GitLab project unknown": ([gitlab(project="acme/none")], ["gitlab.project", "acme/none", "404"]),
    "GitLab down": ([gitlab(url="http://127.0.0.1:9")], ["gitlab", "no connection"]),
    "tag too long": ([gitlab(tags=["x" * 300])], ["tags"]),
    "gpus is a list": ([gitlab(docker={"gpus": ["all"]})], ["gpus", "string"]),
    "unknown docker option": ([gitlab(docker={"privileges": True})], ["privileges", "privileged"]),
    "GitHub 401": ([github(), environment(GITHUB_TOKEN="ghp_wrong")], ["github", "401", "githubToken"]),
    "GitHub organisation unknown": ([github(owner="nobody")], ["github.owner", "nobody", "404"]),
    "webhook without secret": (
        [github(webhook={"url": "http://127.0.0.1:8940/"}), environment(GITHUB_WEBHOOK_SECRET="")],
        ["webhookSecret"],
    ),
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, world: World) -> Any:
    with live_stack(tmp_path_factory.mktemp("wrong"), world) as made:
        yield made


@pytest.mark.parametrize("case", CASES)
def test_wrong_input_gives_one_error_and_creates_nothing(case: str, shared: LiveStack) -> None:
    changes, expected = CASES[case]
    config, known = yaml.safe_load(yaml.safe_dump(shared.config)), dict(shared.environment)
    try:
        for change in changes:
            change(shared)
        refused(shared, expected)
    finally:
        shared.config = config
        shared.environment = known


def refused(stack: LiveStack, expected: list[str]) -> None:
    done = cli(stack, "up", "--yes", "--stack", stack.select(), check=False)
    text = done.stdout + done.stderr
    assert done.returncode != 0, text
    assert "Traceback" not in text, text
    for part in expected:
        assert part in text, text
    assert stack.tenant.leftovers() == []


def test_a_refused_credential_is_named_with_its_remedy(stack: LiveStack) -> None:
    # Keystone answers 401 alike to a wrong, an expired and a deleted credential.
    own_cloud(stack, lambda auth: auth.update(application_credential_secret="expired"))
    refused(stack, ["credential was refused (401)", "expired", "application credential", "clouds.yaml"])


def test_a_tls_failure_names_the_certificate_bundle(stack: LiveStack) -> None:
    with untrusted_server(stack.folder) as port:
        own_cloud(stack, lambda auth: auth.update(auth_url=f"https://127.0.0.1:{port}/v3"))
        refused(stack, ["TLS failed", "cacert"])


def own_cloud(stack: LiveStack, change: Callable[[dict[str, Any]], object]) -> None:
    """Give the stack a clouds.yaml of its own, with `change` made to its credential."""
    entry = yaml.safe_load((state_home() / "clouds.yaml").read_text())["clouds"][stack.tenant.cloud]
    change(entry["auth"])
    path = stack.folder / "clouds.yaml"
    path.write_text(yaml.safe_dump({"clouds": {stack.tenant.cloud: entry}}))
    stack.environment["OS_CLIENT_CONFIG_FILE"] = str(path)
