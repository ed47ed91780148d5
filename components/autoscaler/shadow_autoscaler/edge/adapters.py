"""Builds the adapters that a configuration names. Each is imported only when it is used."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from shadow_autoscaler.core.jobs import ForgeKind
from shadow_autoscaler.core.pools import Deployment
from shadow_autoscaler.edge.config import Config
from shadow_autoscaler.edge.config.model import GitHub, GitLab
from shadow_autoscaler.edge.config.pools import Volume
from shadow_autoscaler.edge.logs import Redactor
from shadow_autoscaler.ports import Cloud, Forge, Queue, Secrets, Store
from shadow_autoscaler.runtime.inbox import Translate

# ruff: noqa: PLC0415 -- an AWS function must not load the SDKs that another function needs


Names = Callable[[], Iterable[str]]


class WatchedSecrets:
    """Hands secrets on, and teaches the log's redactor each value on the way."""

    def __init__(self, inner: Secrets, redactor: Redactor) -> None:
        self._inner, self._redactor = inner, redactor

    def get(self, name: str) -> tuple[str, ...]:
        """Return the current value and, in a rotation, the former one."""
        values = self._inner.get(name)
        for value in values:
            self._redactor.learn(value)
        return values


def secrets(config: Config, folder: Path, redactor: Redactor) -> Secrets:
    """Return where secrets come from; relative folders count from the configuration's."""
    section = config.secrets
    if section.kind == "files":
        from shadow_autoscaler.adapters.local_secrets import FileSecrets

        return WatchedSecrets(FileSecrets(folder / section.directory), redactor)
    if section.kind == "environment":
        from shadow_autoscaler.adapters.local_secrets import EnvironmentSecrets

        return WatchedSecrets(EnvironmentSecrets(section.prefix), redactor)
    from shadow_autoscaler.adapters.aws_secrets import AwsSecrets

    return WatchedSecrets(AwsSecrets(_aws("secretsmanager", section.region), section.prefix), redactor)


def store(config: Config, folder: Path) -> Store:
    """Return where the state lies."""
    if config.store.kind == "sqlite":
        from shadow_autoscaler.adapters.sqlite_store import SqliteStore

        return SqliteStore(folder / config.store.path)
    from shadow_autoscaler.adapters.dynamodb_store import DynamoStore

    return DynamoStore(_aws("dynamodb", config.store.region), config.store.table)


def queue(config: Config) -> Queue | None:
    """Return the queue between the functions, if there is one."""
    if config.queue is None:
        return None
    from shadow_autoscaler.adapters.sqs_queue import SqsQueue

    return SqsQueue(_aws("sqs", config.queue.region), config.queue.url)


def cloud(config: Config) -> Cloud:
    """Return the OpenStack project."""
    from shadow_autoscaler.adapters.openstack import BootVolume, Machine, OpenStackCloud, OpenStackSettings

    section = config.openstack

    def volume(wanted: Volume | None) -> BootVolume | None:
        return BootVolume(wanted.size_gib, wanted.type, premade=wanted.premade) if wanted else None

    machine = Machine(
        image=section.image,
        network=section.network_id,
        security_groups=section.security_groups,
        key_name=section.key_name,
        config_drive=section.config_drive,
        volume=volume(section.volume),
        premade_port=section.premade_port,
    )
    pools = {
        pool.name: replace(
            machine,
            image=pool.image or machine.image,
            volume=volume(pool.volume) if pool.volume else machine.volume,
        )
        for pool in config.pools
    }
    settings = OpenStackSettings(
        deployment=config.deployment,
        cloud=section.cloud,
        machine=machine,
        pools=pools,
        region=section.region,
        clouds_file=section.clouds_file,
        microversion=section.microversion,
        unlock=section.unlock,
        force_delete_after=section.force_delete_after,
    )
    return OpenStackCloud(settings)


def forges(config: Config, source: Secrets, names: Names) -> Mapping[ForgeKind, Forge]:
    """Return the forges that are served; `names` gives the names of all registrations ever made."""
    found: dict[ForgeKind, Forge] = {}
    if config.github:
        found[ForgeKind.GITHUB] = _github(config, config.github, source)
    if config.gitlab:
        found[ForgeKind.GITLAB] = _gitlab(config, config.gitlab, source, names)
    return found


def translators(config: Config) -> Mapping[ForgeKind, Translate]:
    """Return what turns webhooks into events."""
    found: dict[ForgeKind, Translate] = {}
    if config.github:
        from shadow_autoscaler.adapters import github_events

        found[ForgeKind.GITHUB] = github_events.events
    if config.gitlab:
        from shadow_autoscaler.adapters import gitlab_events

        found[ForgeKind.GITLAB] = gitlab_events.events
    return found


def deployment(config: Config, templates: Mapping[str, str]) -> Deployment:
    """Return what the core decides by; a pool's revision changes with all that its VMs are made of."""
    core = config.to_core()
    made_of = config.openstack.model_dump_json()

    def revision(name: str) -> str:
        pool = next(entry for entry in config.pools if entry.name == name)
        text = made_of + pool.model_dump_json() + templates[name]
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    return replace(core, pools=tuple(replace(pool, revision=revision(pool.name)) for pool in core.pools))


def reader(source: Secrets, name: str) -> Callable[[], str]:
    """Return a function that reads the current value of a secret."""
    return lambda: source.get(name)[0]


def _aws(service: str, region: str) -> Any:
    import boto3

    # Some hundred overloads, one per service, tell a type checker nothing about a name that varies.
    make = cast("Callable[..., Any]", boto3.client)  # pyright: ignore[reportUnknownMemberType]
    return make(service, region_name=region or None)


def _github(config: Config, section: GitHub, source: Secrets) -> Forge:
    from shadow_autoscaler.adapters.github import Account, App, Connection, GitHubForge, Token

    account = Account(
        section.owner,
        section.repositories,
        organization_runners=section.runners == "organization",
        installation_id=section.installation_id,
    )
    if section.token:
        credential: App | Token = Token(reader(source, section.token))
    else:
        credential = App(section.app_id, reader(source, section.private_key or ""))
    return GitHubForge(
        accounts=(account,),
        credential=credential,
        deployment_id=config.deployment,
        name_prefix=config.name_prefix,
        connection=Connection(base_url=section.base_url, ca_file=section.ca_file),
        webhook_url=section.webhook_url or f"{config.callback_url.rstrip('/')}/webhook/github",
    )


def _gitlab(config: Config, section: GitLab, source: Secrets, names: Names) -> Forge:
    from shadow_autoscaler.adapters.gitlab import GitLabForge, RunnerToken

    tokens = {
        pool: RunnerToken(reader(source, secret), section.runner_ids.get(pool))
        for pool, secret in section.runner_tokens.items()
    }
    return GitLabForge(
        token=reader(source, section.token),
        projects=section.projects,
        runner_tokens=tokens,
        url=section.url,
        name_prefix=config.name_prefix,
        names=names,
        webhook_url=section.webhook_url or f"{config.callback_url.rstrip('/')}/webhook/gitlab",
        ca_file=section.ca_file,
    )
