"""The autoscaler: its controller machine, its configuration, and the runners and hooks of its pools."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pulumi
import pulumi_gitlab
import yaml
from autoscaler_options import added
from openstack.config import OpenStackConfig

from autoscaler_settings import Autoscaler as Section
from autoscaler_settings import JobPool
from runners import Base
from settings import GitHub, GitLab, Secrets, Settings
from shadow_gpu_runners import (
    Autoscaler,
    AutoscalerArgs,
    AutoscalerTlsArgs,
    GitLabRunner,
    GitLabRunnerArgs,
    RunnerImage,
    job_boot,
)
from shadow_gpu_runners import config_toml as toml
from shadow_gpu_runners.boot_files import BootSettings
from shadow_gpu_runners.catalog import FlavorName, FlavorNameError, offer
from shadow_gpu_runners.prices import default_book
from shadow_gpu_runners.spot import SHADOW

_CLOUD = "controller"


@dataclass(slots=True)
class Parts:
    """What the autoscaler stands on; everything else comes from the settings."""

    settings: Settings
    wanted: Section
    """The settings' own section of the autoscaler."""
    secrets: Secrets
    openstack: pulumi.ResourceOptions
    image_id: pulumi.Output[str]
    network_id: pulumi.Output[str]
    subnet_id: pulumi.Output[str]
    security_group_id: pulumi.Output[str]
    key_name: pulumi.Output[str] | None = None
    given: dict[str, pulumi.Input[str]] = field(default_factory=dict[str, pulumi.Input[str]])
    """Secrets by the names under which the configuration refers to them."""

    @classmethod
    def of(cls, settings: Settings, wanted: Section, secrets: Secrets, stand: Base) -> Self:
        """Take what the machines of the stack stand on."""
        network, key = stand.network, stand.key
        return cls(
            settings=settings,
            wanted=wanted,
            secrets=secrets,
            openstack=stand.opts,
            image_id=stand.image.image_id,
            network_id=network.network_id,
            subnet_id=network.subnet_id,
            security_group_id=network.security_group_id,
            key_name=key.key_name if key else None,
        )


def autoscaler(parts: Parts) -> Autoscaler:
    """Declare the controller with everything that its pools need at the forges."""
    wanted = parts.wanted
    config = _config(parts)
    args: AutoscalerArgs = {
        "url": wanted.url,
        "config": config,
        "user_data": {pool.name: _template(parts, pool) for pool in wanted.pools},
        "secrets": parts.given,
        "clouds_yaml": pulumi.Output.secret(clouds_yaml(wanted.cloud or parts.settings.cloud)),
        "wheel": wanted.wheel or os.environ.get("SHADOW_AUTOSCALER_WHEEL", ""),
        "flavor": wanted.flavor,
        "image_id": _image_id(parts),
        "network_id": parts.network_id,
        "subnet_id": parts.subnet_id,
        "allow_from": list(wanted.allow_from),
        "tls": _tls(parts),
    }
    if index := wanted.index_url or os.environ.get("SHADOW_AUTOSCALER_INDEX", ""):
        args["index_url"] = index
    if wanted.floating_ip:
        args["floating_ip_pool"] = parts.settings.network.external_network
    if parts.key_name is not None:
        args["key_name"] = parts.key_name
    return Autoscaler("autoscaler", args, parts.openstack)


def _image_id(parts: Parts) -> pulumi.Output[str]:
    name = parts.wanted.image
    if not name or name == parts.settings.image.name:
        return parts.image_id
    return RunnerImage("autoscaler-image", {"image_name": name}, parts.openstack).image_id


def _config(parts: Parts) -> dict[str, Any]:
    wanted = parts.wanted
    parts.given["callback-key"] = _needed(parts.secrets.callback_key)
    config: dict[str, Any] = {
        "callback_key": "callback-key",
        "openstack": _openstack(parts),
    }
    if parts.secrets.status_token is not None:
        parts.given["status-token"] = parts.secrets.status_token
        config["status_token"] = "status-token"  # noqa: S105  # a name
    forges = {pool.forge for pool in wanted.pools}
    if parts.settings.github and "github" in forges:
        config["github"] = _github(parts, parts.settings.github)
    if parts.settings.gitlab and "gitlab" in forges:
        config["gitlab"] = _gitlab(parts, parts.settings.gitlab)
    config["pools"] = [_pool(parts, pool) for pool in wanted.pools]
    config = added(config, wanted.options)
    return {**config, "openstack": pulumi.Output.from_input(config["openstack"])}


def _needed(value: pulumi.Output[str] | None) -> pulumi.Input[str]:
    return "" if value is None else value


def _openstack(parts: Parts) -> dict[str, Any]:
    section: dict[str, Any] = {
        "cloud": _CLOUD,
        "region": parts.settings.region,
        "image": parts.settings.image.name,
        "network_id": parts.network_id,
        "security_groups": [parts.security_group_id],
    }
    return section | ({"key_name": parts.key_name} if parts.key_name is not None else {})


def _github(parts: Parts, github: GitHub) -> dict[str, Any]:
    parts.given["github-token"] = _needed(parts.secrets.github_token)
    parts.given["github-webhook-secret"] = _needed(parts.secrets.webhook_secret)
    section: dict[str, Any] = {
        "owner": github.owner,
        "token": "github-token",
        "webhook_secret": "github-webhook-secret",
    }
    if github.repositories:
        section["repositories"] = list(github.repositories)
    if github.base_url:
        section["base_url"] = f"{github.base_url.rstrip('/').removesuffix('/api/v3')}/api/v3"
    return section


def _gitlab(parts: Parts, gitlab: GitLab) -> dict[str, Any]:
    parts.given["gitlab-token"] = _needed(parts.secrets.gitlab_token)
    parts.given["gitlab-webhook-token"] = _needed(parts.secrets.gitlab_webhook_token)
    provider = pulumi_gitlab.Provider(
        "gitlab-autoscaler", base_url=f"{gitlab.url.rstrip('/')}/api/v4/", token=parts.secrets.gitlab_token
    )
    opts = pulumi.ResourceOptions(provider=provider)
    _gitlab_hook(parts, gitlab, opts)
    return {
        "url": gitlab.url,
        "token": "gitlab-token",
        "projects": [gitlab.project],
        "webhook_token": "gitlab-webhook-token",
        "runner_tokens": _gitlab_runners(parts, gitlab, opts),
    }


def _gitlab_hook(parts: Parts, gitlab: GitLab, opts: pulumi.ResourceOptions) -> None:
    pulumi_gitlab.ProjectHook(
        "autoscaler-hook",
        project=gitlab.project,
        url=f"{parts.wanted.url.rstrip('/')}/webhook/gitlab",
        token=parts.secrets.gitlab_webhook_token,
        job_events=True,
        pipeline_events=True,
        push_events=False,
        enable_ssl_verification=True,
        opts=opts,
    )


def _gitlab_runners(parts: Parts, gitlab: GitLab, opts: pulumi.ResourceOptions) -> dict[str, str]:
    """Declare the runner of each pool; return the names of their tokens by pool."""
    names: dict[str, str] = {}
    for pool in (each for each in parts.wanted.pools if each.forge == "gitlab"):
        args: GitLabRunnerArgs = {"url": gitlab.url, "tags": pool.labels, "project": gitlab.project}
        names[pool.name] = f"gitlab-runner-{pool.name}"
        parts.given[names[pool.name]] = GitLabRunner(f"autoscaler-{pool.name}-runner", args, opts).token
    return names


def _pool(parts: Parts, pool: JobPool) -> dict[str, Any]:
    section: dict[str, Any] = {
        "name": pool.name,
        "forge": pool.forge,
        "labels": list(pool.labels),
        "max": pool.max,
        "ladder": list(ladder(pool)),
    }
    if pool.image:
        section["image"] = pool.image
    if not pool.local_disk:
        section["volume"] = {"size_gib": pool.volume.size, "type": pool.volume.type}
        section["volume"] |= {"premade": True} if pool.volume.premade else {}
    if pool.forge == "github" and parts.settings.github:
        section["runner_group"] = parts.settings.github.group
    return {**section, **pool.options}


def ladder(pool: JobPool) -> Iterable[dict[str, Any]]:
    """Yield the rungs of a pool: all spot twins first, then the on-demand flavors, as its market allows."""
    book = default_book()
    for market in ("spot", "on-demand"):
        if market not in pool.market.replace("spot-then-on-demand", "spot on-demand").split():
            continue
        for flavor in pool.flavors:
            name = SHADOW.spot_name(flavor) if market == "spot" else flavor
            rung: dict[str, Any] = {"flavor": name, "market": market}
            price, known = book.flavor(name), offer(flavor)
            if price is not None:
                rung["eur_per_hour"] = float(price.eur_per_hour)
            if known is not None:
                rung |= {"vcpus": known.vcpus, "ram_mib": known.ram_mib}
            yield rung | ({"zones": list(pool.zones)} if pool.zones else {})


def _template(parts: Parts, pool: JobPool) -> str:
    archive, _, digest = pool.runner_archive.partition("#sha256=")
    packages = job_boot.packages(pool.forge) if pool.packages is None else tuple(pool.packages)
    boot = BootSettings(gpu_image=pool.gpu_image, gpu_count=_gpus(pool.flavors[0]), packages=packages)
    return job_boot.user_data(
        job_boot.JobSettings(
            kind=pool.forge,
            config_toml=_config_toml(parts, pool) if pool.forge == "gitlab" else "",
            runner_archive_url=archive,
            runner_archive_sha256=digest,
            boot=boot,
        )
    )


def _gpus(flavor: str) -> int:
    try:
        return FlavorName.parse(flavor).cards
    except FlavorNameError:
        return 1


def _config_toml(parts: Parts, pool: JobPool) -> str:
    gitlab = parts.settings.gitlab
    url = gitlab.url if gitlab else ""
    docker: Mapping[str, object] = {"image": pool.gpu_image, **(gitlab.docker if gitlab else {})}
    return toml.render(toml.RunnerConfig(url=url, token=job_boot.TOKEN_PLACEHOLDER, docker=docker))


def _tls(parts: Parts) -> AutoscalerTlsArgs:
    tls = parts.wanted.tls
    args: AutoscalerTlsArgs = {"mode": tls.mode, "email": tls.email}
    if tls.certificate_file and parts.secrets.tls_key is not None:
        args["certificate"] = Path(tls.certificate_file).read_text(encoding="utf-8")
        args["private_key"] = parts.secrets.tls_key
    return args


def clouds_yaml(cloud: str) -> str:
    """Return a clouds.yaml with one entry, made of the user's entry `cloud`."""
    found = OpenStackConfig().get_one(cloud=cloud)
    config = found.config
    auth = {name: value for name, value in config["auth"].items() if value}
    entry: dict[str, Any] = {"auth": auth, "auth_type": config.get("auth_type", "password")}
    for name in ("region_name", "interface", "identity_api_version"):
        if config.get(name):
            entry[name] = config[name]
    text: str = yaml.safe_dump({"clouds": {_CLOUD: entry}})  # pyright: ignore[reportUnknownMemberType]
    return text
