"""The stack's configuration: defaults, every fault at once, secrets never in plain text."""

import json
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from pulumi.runtime import set_all_config

import settings
from shadow_gpu_runners.catalog import BOOT_VOLUME_GIB, BOOT_VOLUME_TYPE

ROOT = Path(__file__).parents[3]
GOOD: dict[str, Any] = {
    "cloud": "shadow-dev",
    "region": "LOCAL01",
    "network": {"externalNetwork": "ext-net"},
    "image": {"name": "ubuntu"},
    "pools": [{"name": "gpu", "flavor": "edge-c4m16-gpu-2000-1"}],
}


@pytest.fixture(autouse=True)
def no_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in settings._SECRET_KEYS.values():
        monkeypatch.delenv(variable, raising=False)


def load(**changes: Any) -> tuple[settings.Settings, settings.Secrets]:
    values = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    texts = {k: v if isinstance(v, str) else json.dumps(v) for k, v in values.items()}
    set_all_config({f"{settings.NAMESPACE}:{key}": text for key, text in texts.items()})
    return settings.load(pulumi.Config(settings.NAMESPACE))


def fault(**changes: Any) -> str:
    with pytest.raises(settings.SettingsError) as caught:
        load(**changes)
    return str(caught.value)


def test_a_minimal_configuration_takes_the_documented_defaults() -> None:
    found, secrets = load()
    pool = found.pools[0]
    assert (pool.market, pool.count, pool.volume.type, pool.volume.size) == ("spot", 1, "Wood", 100)
    assert (found.gitlab, found.github) == (None, None)
    assert secrets == settings.Secrets(None, None, None)


def test_every_fault_is_reported_together_with_key_value_and_remedy() -> None:
    text = fault(
        region=None,
        image={"nome": "ubuntu"},
        pools=[{"name": "GPU", "flavor": "x", "market": "sport", "count": -1}],
    )
    for part in ("region", "image.name", "image.nome", "pools[0].name", "pools[0].market", "pools[0].count"):
        assert f"{settings.NAMESPACE}:{part}" in text
    assert "'sport'" in text
    assert "-1" in text
    assert "pulumi config set" in text


def test_a_missing_token_names_the_key_and_the_variable() -> None:
    text = fault(
        gitlab={"project": "acme/inference"}, github={"owner": "acme", "repositories": ["inference"]}
    )
    assert "pulumi config set --secret gitlabToken" in text
    assert "GITHUB_TOKEN" in text


def test_a_webhook_needs_its_secret() -> None:
    github = {"owner": "acme", "visibility": "all", "webhook": {"url": "https://ci.example/github"}}
    assert "webhookSecret" in fault(github=github, githubToken="ghp_planted")


def test_selected_visibility_needs_repositories() -> None:
    assert "github.repositories" in fault(github={"owner": "acme"}, githubToken="ghp_planted")


@pytest.mark.parametrize("owners", [{}, {"project": "a/b", "group": "a"}])
def test_exactly_one_of_project_and_group(owners: dict[str, str]) -> None:
    assert "exactly one" in fault(gitlab=owners, gitlabToken="glpat-planted")


def test_two_pools_may_not_share_a_name() -> None:
    pool = GOOD["pools"][0]
    assert "used 2 times" in fault(pools=[pool, pool])


@pytest.mark.parametrize(
    ("network", "key", "remedy"),
    [
        ({}, "network.externalNetwork: missing", "networkId"),
        (
            {"externalNetwork": "ext-net", "subnetId": "s"},
            "network.subnetId: got 's'",
            "add network.networkId",
        ),
        ({"networkId": "n"}, "pools[0].floatingIp: got true", "network.externalNetwork"),
        (
            {"networkId": "n", "dnsServers": ["1.1.1.1"]},
            "network.dnsServers: got ['1.1.1.1']",
            "leave it out",
        ),
    ],
)
def test_what_a_network_lacks_is_said(network: dict[str, Any], key: str, remedy: str) -> None:
    text = fault(network=network, pools=[{**GOOD["pools"][0], "floatingIp": True}])
    (line,) = [line for line in text.splitlines() if key in line]
    assert remedy in line


def test_an_existing_network_needs_no_other_key() -> None:
    assert load(network={"networkId": "n"})[0].network.subnet_id == ""


def test_no_pool_is_a_fault() -> None:
    assert "pools" in fault(pools=[])


def test_a_token_from_the_environment_is_a_secret_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITLAB_TOKEN", "glpat-planted")
    _, secrets = load(gitlab={"project": "acme/inference"})
    assert isinstance(secrets.gitlab_token, pulumi.Output)
    assert "planted" not in repr(secrets)


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"pools": [], "gitlabToken": "glpat-planted01234"}, "pools"),
        ({"gitlab": {"url": "glpat-planted01234", "project": "a/b"}}, "gitlab.url"),
        ({"gitlab": {"project": "glpat-planted01234", "group": "g"}}, "gitlab.project"),
        ({"gitlab": {"project": "a/b", "token": "planted-of-any-shape"}}, "gitlab.token"),
        ({"gitlab": {"project": "a/b", "concurrent": "glpat-planted01234"}}, "gitlab.concurrent"),
        ({"gitlab": {"project": "a/b", "docker": {"environment": ["T=glpat-planted01234"]}}}, "docker.env"),
        ({"gitlab": {"project": "a/b", "glpat-planted01234": 1}}, "gitlab (a key)"),
        ({"network": "planted-of-any-shape"}, "network: got a text (not shown)"),
        ({"network": '{"cidr": "planted'}, "network: got a text (not shown)"),
        ({"github": {"owner": "a", "baseUrl": "https://me:planted@git.test"}}, "github.baseUrl"),
        ({"github": {"owner": "a", "variables": {"T": "ghp_planted0123456789"}}}, "github.variables.T"),
        ({"sshPublicKey": "-----BEGIN OPENSSH PRIVATE KEY-----planted"}, "sshPublicKey"),
        ({"gitlabTokn": "planted-of-any-shape"}, "gitlabTokn: unknown key"),
    ],
)
def test_a_fault_names_the_place_and_never_shows_a_secret(changes: dict[str, Any], place: str) -> None:
    text = fault(**changes)
    assert place in text
    assert "planted" not in text


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"cloud": ""}, "cloud"),
        ({"region": "  "}, "region"),
        ({"image": {"name": ""}}, "image.name"),
        ({"pools": [{"name": "gpu", "flavor": ""}]}, "pools[0].flavor"),
        ({"pools": []}, "pools"),
        ({"gitlab": {"project": "a/b", "url": ""}}, "gitlab.url"),
        ({"gitlab": {"project": "a/b", "tags": [""]}}, "gitlab.tags[0]"),
        ({"github": {"owner": ""}}, "github.owner"),
        ({"gitlab": {"project": "a/b"}, "gitlabToken": ""}, "gitlabToken: missing"),
    ],
)
def test_what_is_empty_is_named(changes: dict[str, Any], place: str) -> None:
    text = fault(**changes)
    assert f"{settings.NAMESPACE}:{place}" in text
    assert text.count("pools") == place.count("pools")


def test_a_missing_token_is_told_together_with_other_faults() -> None:
    text = fault(pools=[], gitlab={"project": "a/b"})
    assert "gitlabToken: missing" in text
    assert "pools" in text


def test_no_part_of_a_long_token_is_shown() -> None:
    text = fault(gitlab={"project": "a/b", "concurrent": "x" * 112 + " glpat-planted01234" * 9})
    assert "glpat" not in text


def test_many_or_long_faults_stay_readable() -> None:
    text = fault(pools=[{"name": "A" * 10_000, "flavor": 1}] * 1000)
    assert "2000 fault(s)" in text
    assert "more" in text
    assert len(text) < 10_000


@pytest.mark.parametrize("file", ["Pulumi.dev.yaml", "Pulumi.shadow.yaml.example"])
def test_the_stacks_that_come_with_the_project_are_usable(file: str) -> None:
    config = yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))["config"]
    tokens = {"gitlabToken": "t", "githubToken": "t", "webhookSecret": "s"}
    tokens |= {"autoscalerCallbackKey": "k", "gitlabWebhookToken": "w"}
    ours = {
        key.partition(":")[2]: value for key, value in config.items() if key.startswith(settings.NAMESPACE)
    }
    found, _ = load(**ours, **tokens)
    assert found.gitlab
    assert found.github
    policies = json.loads((ROOT / "tests" / "policy" / "config.json").read_text(encoding="utf-8"))
    allowed = policies["no-secret-in-user-data"]["allow"]
    assert all(any(fnmatch(f"{pool.name}-01", name) for name in allowed) for pool in found.pools)


def test_the_projects_schema_asks_for_what_is_required_and_has_the_same_defaults() -> None:
    schema = yaml.safe_load((ROOT / "Pulumi.yaml").read_text(encoding="utf-8"))["config"]
    declared = {key.removeprefix(f"{settings.NAMESPACE}:"): option for key, option in schema.items()}
    fields = {str(field.alias): field for field in settings.Settings.model_fields.values()}
    required = {key for key, field in fields.items() if field.is_required()}
    assert {key for key, option in declared.items() if "default" not in option} == required - {"cloud"}
    for key, option in declared.items():
        if not fields[key].is_required():
            assert option["default"] == fields[key].default


def test_true_is_no_number() -> None:
    text = fault(pools=[{**GOOD["pools"][0], "count": True, "volume": {"size": True}}])
    for key in ("pools[0].count", "pools[0].volume.size"):
        assert f"{key}: Input should be a whole number, not true or false, got True" in text


def test_a_key_in_snake_case_is_refused_with_the_right_spelling() -> None:
    text = fault(network={"external_network": "ext-net"})
    assert "network.external_network: Extra inputs are not permitted, did you mean 'externalNetwork'?" in text


def test_the_boot_volume_of_the_stack_is_the_component_s() -> None:
    documented = (ROOT / "docs" / "reference" / "configuration.md").read_text(encoding="utf-8")
    assert settings.Volume() == settings.Volume(size=BOOT_VOLUME_GIB, type=BOOT_VOLUME_TYPE)
    assert f"| GiB, string | {BOOT_VOLUME_GIB}, `{BOOT_VOLUME_TYPE}` |" in documented
