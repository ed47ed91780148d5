"""The stack's typed configuration: one loader, every fault reported together, secrets never in plain text."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

import credentials
import pulumi
from pulumi.runtime.config import CONFIG, get_config_env
from pydantic import BaseModel, Field, ValidationError
from pydantic.alias_generators import to_camel

import autoscaler_faults
import autoscaler_settings
from setting_kinds import NAMESPACE as NAMESPACE  # noqa: PLC0414 - callers know it from here
from setting_kinds import REMEDY, SECTION, Address, Text, Whole
from shadow_gpu_runners.catalog import BOOT_VOLUME_GIB, BOOT_VOLUME_TYPE


class SettingsError(Exception):
    """The stack's configuration is unusable; the message lists every fault with its key and remedy."""


class _Section(BaseModel):
    model_config = SECTION


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

    name: Text
    """Name of an image that the tenant sees; the most recent one of that name is taken."""


class Volume(_Section):
    """`pools[].volume`: the boot volume."""

    size: Annotated[Whole, Field(ge=10, le=4096)] = BOOT_VOLUME_GIB
    """GiB."""
    type: str = BOOT_VOLUME_TYPE
    """Volume type."""


class Pool(_Section):
    """`pools[]`: a group of long-lived instances."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{1,40}$")]
    """Prefix of the instances' names."""
    flavor: Text
    """On-demand flavor name; its spot twin is derived from it."""
    market: Literal["spot", "on-demand", "spot-then-on-demand"] = "spot"
    """What is bought."""
    count: Annotated[Whole, Field(ge=0, le=100)] = 1
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

    url: Address = "https://gitlab.com/"
    """Base URL of the GitLab instance."""
    project: str = ""
    """Full path of the project to serve; exactly one of `project` and `group`."""
    group: str = ""
    """Full path of the group to serve."""
    tags: Annotated[list[Text], Field(min_length=1)] = ["shadow-gpu"]
    """Tags that jobs ask for."""
    untagged: bool = False
    """Whether jobs without tags are taken."""
    protected: bool = False
    """Whether only jobs of protected branches are taken."""
    maximum_timeout: Annotated[Whole, Field(ge=600)] = 3600
    """Longest job, in seconds."""
    concurrent: Annotated[Whole, Field(ge=1)] = 1
    """Jobs at once per instance."""
    docker: dict[str, Any] = {}
    """Options of `[runners.docker]`, on top of the article's."""


class Webhook(_Section):
    """`github.webhook`: where `workflow_job` events go."""

    url: Address
    """Receiver."""
    active: bool = True
    """Whether GitHub delivers."""


class GitHub(_Section):
    """`github`: the runner group and its webhook."""

    owner: Text
    """Organisation."""
    base_url: Address | Literal[""] = ""
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

    cloud: Text
    """Entry of clouds.yaml."""
    region: Text
    """OpenStack region."""
    network: Network
    """Network of the runners."""
    image: Image
    """Image of the runners."""
    ssh_public_key: str = ""
    """Public key, one OpenSSH line, that may log in to the instances; no key pair when empty."""
    pools: list[Pool] = []
    """Instance groups; at least one, or an autoscaler."""
    autoscaler: autoscaler_settings.Autoscaler | None = None
    """Controller that makes a machine for each job; none when left out."""
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
    gitlab_webhook_token: pulumi.Output[str] | None = None
    callback_key: pulumi.Output[str] | None = None
    status_token: pulumi.Output[str] | None = None
    tls_key: pulumi.Output[str] | None = None


_SECRET_KEYS = {
    "gitlabToken": "GITLAB_TOKEN",
    "githubToken": "GITHUB_TOKEN",
    "webhookSecret": "GITHUB_WEBHOOK_SECRET",
    "gitlabWebhookToken": "GITLAB_WEBHOOK_TOKEN",
    "autoscalerCallbackKey": "SHADOW_AUTOSCALER_CALLBACK_KEY",
    "autoscalerStatusToken": "SHADOW_AUTOSCALER_STATUS_TOKEN",
    "autoscalerTlsKey": "SHADOW_AUTOSCALER_TLS_KEY",
}
_KEYS = tuple(to_camel(name) for name in Settings.model_fields)
_TEXTS = frozenset({"cloud", "region", "sshPublicKey"})
_SHOWN_FAULTS = 30
_SHOWN_CHARS = 120


def load(config: pulumi.Config | None = None) -> tuple[Settings, Secrets]:
    """Read the stack's configuration.

    Raises:
        SettingsError: naming every unusable key with its value, the expectation and the remedy.
    """
    source = config or pulumi.Config(NAMESPACE)
    faults = _unknown_keys()
    values = _values(source, faults)
    secrets = {key: _secret(source, key, variable) for key, variable in _SECRET_KEYS.items()}
    faults += [_misplaced(place) for place in credentials.places(values, "")]
    settings = _parse(values, faults)
    faults += _missing_secrets(values, secrets)
    if settings is not None:
        faults += _cross_check(settings)
    if settings is None or faults:
        raise SettingsError(_told(faults))
    return settings, Secrets(*secrets.values())


def _values(config: pulumi.Config, faults: list[str]) -> dict[str, object]:
    values: dict[str, object] = {}
    for key in _KEYS:
        try:
            value = config.get(key) if key in _TEXTS else config.get_object(key)
        except (pulumi.ConfigTypeError, RecursionError, ValueError):
            # The value is not shown: whoever types a token as a whole section would find it in a log.
            faults.append(
                f"  {NAMESPACE}:{key}: got a text (not shown), expected a list or an object; {REMEDY}"
            )
            value = None
        if value is not None:
            values[key] = value
    return values


def _unknown_keys() -> list[str]:
    known = {*_KEYS, *_SECRET_KEYS}
    given = {**get_config_env(), **CONFIG.get()}
    ours = (key.partition(":")[2] for key in given if key.startswith(f"{NAMESPACE}:"))
    return [
        f"  {NAMESPACE}:{key}: unknown key, expected one of {', '.join(sorted(known))};"
        f" remove it by `pulumi config rm {key}`, or correct its name"
        for key in sorted(set(ours) - known)
    ]


def _misplaced(place: str) -> str:
    return (
        f"  {NAMESPACE}:{place.lstrip('.')}: got what looks like a credential (not shown), expected none;"
        f" take it out and revoke it; tokens go by `pulumi config set --secret` ({', '.join(_SECRET_KEYS)})"
    )


def _told(faults: list[str]) -> str:
    rest = len(faults) - _SHOWN_FAULTS
    more = [f"  … and {rest} more"] if rest > 0 else []
    head = f"the stack's configuration has {len(faults)} fault(s):"
    return credentials.SHAPES.sub("(not shown)", "\n".join([head, *faults[:_SHOWN_FAULTS], *more]))


def _secret(config: pulumi.Config, key: str, variable: str) -> pulumi.Output[str] | None:
    if config.get(key):
        return config.get_secret(key)
    value = os.environ.get(variable)
    return pulumi.Output.secret(value) if value else None


def plain_secret(key: str) -> str | None:
    """Return a secret for use inside this process only; never put it into a resource or a message."""
    return pulumi.Config(NAMESPACE).get(key) or os.environ.get(_SECRET_KEYS[key])


def _parse(values: Mapping[str, object], faults: list[str]) -> Settings | None:
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        broken = {fault.partition(":")[2].partition(":")[0] for fault in faults}
        found = [fault for fault in error.errors(include_url=False) if fault["loc"][0] not in broken]
        # A section that could not be read is not missing as well.
        faults += [_explain(dict(fault)) for fault in found]
        return None


def _explain(fault: dict[str, Any]) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"])
    # Under a key that is not ours there could be anything, even a password.
    hidden = fault["type"] in {"missing", "extra_forbidden"}
    value = "" if hidden else f", got {_short(fault['input'])}"
    name = str(fault["loc"][-1])
    hint = f", did you mean {to_camel(name)!r}?" if hidden and to_camel(name) != name else ""
    return f"  {NAMESPACE}:{path.lstrip('.')}: {fault['msg']}{value}{hint}; {REMEDY}"


def _short(value: object) -> str:
    text = credentials.SHAPES.sub("(not shown)", repr(value))
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


def _missing_secrets(values: Mapping[str, object], secrets: Mapping[str, object]) -> list[str]:
    github = values.get("github")
    hook = cast("Mapping[str, object]", github).get("webhook") if isinstance(github, Mapping) else None
    needed: dict[str, object] = {
        "gitlabToken": values.get("gitlab"),
        "githubToken": github,
        "webhookSecret": hook,
        **_needed_by_autoscaler(values.get("autoscaler")),
    }
    return [_missing_secret(key) for key, user in needed.items() if user and secrets[key] is None]


def _needed_by_autoscaler(section: object) -> dict[str, object]:
    if not isinstance(section, Mapping):
        return {}
    known = cast("Mapping[str, object]", section)
    found, tls = known.get("pools"), known.get("tls")
    pools = cast("list[object]", found) if isinstance(found, list) else []
    forges = [cast("Mapping[str, object]", pool).get("forge") for pool in pools if isinstance(pool, Mapping)]
    github = {"webhookSecret": True} if "github" in forges else {}
    own = isinstance(tls, Mapping) and cast("Mapping[str, object]", tls).get("mode") == "certificate"
    keys = {"autoscalerCallbackKey": True, "autoscalerTlsKey": own}
    return {**keys, "gitlabWebhookToken": "gitlab" in forges, **github}


def _cross_check(settings: Settings) -> list[str]:
    return [
        *autoscaler_faults.find(settings),
        *_gitlab_faults(settings.gitlab),
        *_github_faults(settings.github),
        *_pool_faults(settings.pools),
        *_network_faults(settings.network, settings.pools),
    ]


def _gitlab_faults(gitlab: GitLab | None) -> list[str]:
    if gitlab is None or bool(gitlab.project) != bool(gitlab.group):
        return []
    owners = f"project={gitlab.project!r} and group={gitlab.group!r}"
    return [f"  {NAMESPACE}:gitlab: got {owners}, expected exactly one of the two; leave the other out"]


def _github_faults(github: GitHub | None) -> list[str]:
    if github is None or github.visibility != "selected" or github.repositories:
        return []
    fault = (
        f"  {NAMESPACE}:github.repositories: got none, expected at least one repository name for"
        " visibility 'selected'; name them or set github.visibility to 'all'"
    )
    return [fault]


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
