"""The stack's typed configuration: one loader, every fault reported together, secrets never in plain text."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pulumi
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

NAMESPACE = "shadow-gpu-runners"


class SettingsError(Exception):
    """The stack's configuration is unusable; the message lists every fault with its key and remedy."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class Network(_Section):
    """`network`: what the runners boot into."""

    external_network: str = ""
    """Name of the provider network that the router reaches; needed unless `networkId` is given."""
    cidr: str = "10.42.0.0/24"
    """IPv4 range of the runner subnet."""
    dns_servers: list[str] = []
    """Resolvers handed to the runners; the cloud's own when empty."""
    ssh_from: str = ""
    """CIDR that may reach port 22; no SSH when empty."""
    network_id: str = ""
    """ID of an existing network to use instead of making one."""
    subnet_id: str = ""
    """ID of a subnet in `networkId`; may be left out where it has just one."""


class Image(_Section):
    """`image`: what the runners boot."""

    name: str
    """Name of an image that the tenant sees; the most recent one of that name is taken."""


class Volume(_Section):
    """`pools[].volume`: the boot volume."""

    size: Annotated[int, Field(ge=10, le=4096)] = 60
    """GiB."""
    type: str = "Wood"
    """Volume type."""


class Pool(_Section):
    """`pools[]`: a group of long-lived instances."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{1,40}$")]
    """Prefix of the instances' names."""
    flavor: str
    """On-demand flavor name; its spot twin is derived from it."""
    market: Literal["spot", "on-demand", "spot-then-on-demand"] = "spot"
    """What is bought."""
    count: Annotated[int, Field(ge=0, le=100)] = 1
    """How many instances."""
    on_demand_fallback: list[str] = []
    """Names of instances that run on-demand because no spot capacity was found for them."""
    volume: Volume = Volume()
    """Boot volume."""
    zones: list[str] = []
    """Availability zones, taken in turn; the cloud's choice when empty."""
    floating_ip: bool = False
    """Whether each instance gets a public address."""


class GitLab(_Section):
    """`gitlab`: the GitLab runner that the pools serve."""

    url: str = "https://gitlab.com/"
    """Base URL of the GitLab instance."""
    project: str = ""
    """Full path of the project to serve; exactly one of `project` and `group`."""
    group: str = ""
    """Full path of the group to serve."""
    tags: Annotated[list[str], Field(min_length=1)] = ["shadow-gpu"]
    """Tags that jobs ask for."""
    untagged: bool = False
    """Whether jobs without tags are taken."""
    protected: bool = False
    """Whether only jobs of protected branches are taken."""
    maximum_timeout: Annotated[int, Field(ge=600)] = 3600
    """Longest job, in seconds."""
    concurrent: Annotated[int, Field(ge=1)] = 1
    """Jobs at once per instance."""
    docker: dict[str, Any] = {}
    """Options of `[runners.docker]`, on top of the article's."""


class Webhook(_Section):
    """`github.webhook`: where `workflow_job` events go."""

    url: str
    """Receiver."""
    active: bool = True
    """Whether GitHub delivers."""


class GitHub(_Section):
    """`github`: the runner group and its webhook."""

    owner: str
    """Organisation."""
    base_url: str = ""
    """Address of an Enterprise server, with or without `/api/v3/`; GitHub's own when empty."""
    group: str = "shadow-gpu"
    """Name of the runner group."""
    visibility: Literal["all", "selected"] = "selected"
    """Which repositories may use the group."""
    repositories: list[str] = []
    """Names of the repositories for visibility `selected`."""
    workflows: list[str] = []
    """Workflows that alone may use the group, as `owner/repo/path@ref`."""
    webhook: Webhook | None = None
    """Webhook of the organisation; none when left out."""
    labels: list[str] = ["self-hosted", "shadow-gpu"]
    """Labels of the runners, given to workflows as the variable SHADOW_GPU_LABELS."""
    labels_variable: str = "SHADOW_GPU_LABELS"
    """Name of that variable; a second stack in the same organisation needs another one."""
    variables: dict[str, str] = {}
    """Further Actions variables of the organisation."""


class Settings(_Section):
    """Everything that the stack program reads from its configuration."""

    cloud: str
    """Entry of clouds.yaml."""
    region: str
    """OpenStack region."""
    network: Network
    """Network of the runners."""
    image: Image
    """Image of the runners."""
    ssh_public_key: str = ""
    """Public key, one OpenSSH line, that may log in to the instances; no key pair when empty."""
    pools: Annotated[list[Pool], Field(min_length=1)]
    """Instance groups."""
    gitlab: GitLab | None = None
    """GitLab runner; none when left out."""
    github: GitHub | None = None
    """GitHub runner group; none when left out."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """Secret values; each is a secret `Output`, or absent."""

    gitlab_token: pulumi.Output[str] | None
    github_token: pulumi.Output[str] | None
    webhook_secret: pulumi.Output[str] | None


_SECRET_KEYS = {
    "gitlabToken": "GITLAB_TOKEN",
    "githubToken": "GITHUB_TOKEN",
    "webhookSecret": "GITHUB_WEBHOOK_SECRET",
}


def load(config: pulumi.Config | None = None) -> tuple[Settings, Secrets]:
    """Read the stack's configuration.

    Raises:
        SettingsError: naming every unusable key with its value, the expectation and the remedy.
    """
    source = config or pulumi.Config(NAMESPACE)
    keys = [to_camel(name) for name in Settings.model_fields]
    values = {key: value for key in keys if (value := _read(source, key)) is not None}
    secrets = {key: _secret(source, key, variable) for key, variable in _SECRET_KEYS.items()}
    faults: list[str] = []
    settings = _parse(values, faults)
    if settings is not None:
        faults += _cross_check(settings, secrets)
    if settings is None or faults:
        raise SettingsError("\n".join([f"the stack's configuration has {len(faults)} fault(s):", *faults]))
    return settings, Secrets(secrets["gitlabToken"], secrets["githubToken"], secrets["webhookSecret"])


def _read(config: pulumi.Config, key: str) -> object:
    return config.get(key) if key in ("cloud", "region", "sshPublicKey") else config.get_object(key)


def _secret(config: pulumi.Config, key: str, variable: str) -> pulumi.Output[str] | None:
    found = config.get_secret(key)
    if found is not None:
        return found
    value = os.environ.get(variable)
    return pulumi.Output.secret(value) if value else None


def plain_secret(key: str) -> str | None:
    """Return a secret for use inside this process only; never put it into a resource or a message."""
    return pulumi.Config(NAMESPACE).get(key) or os.environ.get(_SECRET_KEYS[key])


def _parse(values: Mapping[str, object], faults: list[str]) -> Settings | None:
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        faults += [_explain(dict(fault)) for fault in error.errors(include_url=False)]
        return None


def _explain(fault: dict[str, Any]) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"])
    value = "" if fault["type"] == "missing" else f", got {fault['input']!r}"
    return (
        f"  {NAMESPACE}:{path.lstrip('.')}: {fault['msg']}{value};"
        f" set it with `pulumi config set --path` or in Pulumi.<stack>.yaml (docs/reference/configuration.md)"
    )


def _cross_check(settings: Settings, secrets: Mapping[str, pulumi.Output[str] | None]) -> list[str]:
    return [
        *_gitlab_faults(settings.gitlab, secrets),
        *_github_faults(settings.github, secrets),
        *_pool_faults(settings.pools),
        *_network_faults(settings.network, settings.pools),
    ]


def _gitlab_faults(gitlab: GitLab | None, secrets: Mapping[str, object]) -> list[str]:
    if gitlab is None:
        return []
    faults: list[str] = []
    if bool(gitlab.project) == bool(gitlab.group):
        faults.append(
            f"  {NAMESPACE}:gitlab: got project={gitlab.project!r} and group={gitlab.group!r},"
            " expected exactly one of the two; leave the other out"
        )
    if secrets["gitlabToken"] is None:
        faults.append(_missing_secret("gitlabToken"))
    return faults


def _github_faults(github: GitHub | None, secrets: Mapping[str, object]) -> list[str]:
    if github is None:
        return []
    faults = [_missing_secret("githubToken")] if secrets["githubToken"] is None else []
    if github.webhook and secrets["webhookSecret"] is None:
        faults.append(_missing_secret("webhookSecret"))
    if github.visibility == "selected" and not github.repositories:
        faults.append(
            f"  {NAMESPACE}:github.repositories: got none, expected at least one repository name for"
            " visibility 'selected'; name them or set github.visibility to 'all'"
        )
    return faults


def _pool_faults(pools: list[Pool]) -> list[str]:
    names = [pool.name for pool in pools]
    return [
        f"  {NAMESPACE}:pools: the name {name!r} is used {names.count(name)} times, expected once;"
        " give each pool its own name"
        for name in sorted(set(names))
        if names.count(name) > 1
    ]


def _network_faults(network: Network, pools: list[Pool]) -> list[str]:
    key = f"  {NAMESPACE}:network"
    faults: list[str] = []
    if not network.network_id and not network.external_network:
        faults.append(
            f"{key}.externalNetwork: missing, expected the network that a new router reaches; see"
            " `openstack network list --external`, or name an existing network by network.networkId"
        )
    if network.subnet_id and not network.network_id:
        faults.append(f"{key}.subnetId: got {network.subnet_id!r} without a network; add network.networkId")
    if network.network_id and network.dns_servers:
        faults.append(
            f"{key}.dnsServers: got {network.dns_servers}, expected none with network.networkId: an existing"
            " subnet keeps its resolvers; leave it out"
        )
    faults += [
        f"  {NAMESPACE}:pools[{index}].floatingIp: got true, expected a network to take the address from;"
        " set network.externalNetwork"
        for index, pool in enumerate(pools)
        if pool.floating_ip and not network.external_network
    ]
    return faults


def _missing_secret(key: str) -> str:
    return (
        f"  {NAMESPACE}:{key}: missing, expected a secret; run `pulumi config set --secret {key}`"
        f" or export {_SECRET_KEYS[key]}"
    )
