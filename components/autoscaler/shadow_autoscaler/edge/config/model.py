"""The sections of the configuration file."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from shadow_autoscaler.core import pools as core
from shadow_autoscaler.edge.config.kinds import Address, Duration, SecretName, Section, Text, Within
from shadow_autoscaler.edge.config.pools import Pool, Volume


class Listen(Section):
    """`listen`: where the server answers."""

    host: Text = "127.0.0.1"
    """Address to bind; a TLS server in front of it reaches it there."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 8080
    """TCP port; 0 takes a free one."""
    max_body_mib: Annotated[int, Field(ge=1, le=25)] = 25
    """Largest webhook body in MiB; GitHub sends no more than 25."""
    bind_address: bool = False
    """Whether a VM must also call from an address that the cloud gave it."""
    trusted_proxies: tuple[Text, ...] = ("127.0.0.1",)
    """Peers whose `X-Forwarded-For` is believed."""


class Store(Section):
    """`store`: where the state lies."""

    kind: Literal["sqlite", "dynamodb"] = "sqlite"
    """A file on this machine, or a table of Amazon DynamoDB."""
    path: str = ""
    """sqlite: the database file."""
    table: str = ""
    """dynamodb: the table's name."""
    region: str = ""
    """dynamodb: the region; the environment's when empty."""


class Queue(Section):
    """`queue`: between the webhook function and the worker function."""

    url: Address
    """Address of the Amazon SQS queue."""
    region: str = ""
    """Its region; the environment's when empty."""


class Secrets(Section):
    """`secrets`: where secrets come from. They are read anew at each use."""

    kind: Literal["files", "environment", "aws"] = "files"
    """A folder with one file per secret, environment variables, or AWS Secrets Manager."""
    directory: str = ""
    """files: the folder."""
    prefix: str = ""
    """environment: put before each name; aws: the same."""
    region: str = ""
    """aws: the region; the environment's when empty."""


class GitHub(Section):
    """`github`: the organisation or repositories whose jobs are served."""

    owner: Text
    """Organisation, or user who owns `repositories`."""
    repositories: tuple[Text, ...] = ()
    """Names, without the owner, of the repositories to serve; all of the organisation when empty."""
    runners: Literal["organization", "repository"] = "organization"
    """Where runners are registered; with each repository is the only way for a user's own."""
    base_url: Address = "https://api.github.com"
    """Address of the REST API; `https://HOST/api/v3` for an Enterprise server."""
    app_id: str = ""
    """App ID or client ID of the GitHub App."""
    installation_id: Annotated[int, Field(ge=1)] | None = None
    """Installation of the App; looked up when left out."""
    private_key: SecretName | None = None
    """Secret with the App's private key in PEM form."""
    token: SecretName | None = None
    """Secret with a token, instead of an App."""
    webhook_secret: SecretName
    """Secret of the webhook; two values during a rotation."""
    webhook_url: Address | None = None
    """Where the webhook leads, to find missed events; `callback_url` with `/webhook/github` if left out."""
    ca_file: str = ""
    """Certificates of an Enterprise server's own authority."""


class GitLab(Section):
    """`gitlab`: the projects whose jobs are served."""

    url: Address = "https://gitlab.com"
    """Address of the instance."""
    token: SecretName
    """Secret with a token of scope `api` and role Maintainer in the projects."""
    projects: Annotated[tuple[Text, ...], Field(min_length=1)]
    """Full path of each project to watch."""
    webhook_token: SecretName | None = None
    """Secret that the hook sends in `X-Gitlab-Token`."""
    signing_secret: SecretName | None = None
    """Secret of signed hooks, `whsec_…`."""
    runner_tokens: Annotated[dict[str, SecretName], Field(default_factory=dict[str, str])]
    """For each pool, the secret with its runner's authentication token, `glrt-…`."""
    runner_ids: Annotated[dict[str, int], Field(default_factory=dict[str, int])]
    """For each pool, its runner's ID; asked for when left out."""
    webhook_url: Address | None = None
    """Where the webhook leads, to find missed events; `callback_url` with `/webhook/gitlab` if left out."""
    ca_file: str = ""
    """Certificates of an instance's own authority."""


class OpenStack(Section):
    """`openstack`: the project in which VMs are made."""

    cloud: Text
    """Entry of clouds.yaml."""
    clouds_file: str = ""
    """Path of clouds.yaml; the SDK's usual places when empty."""
    region: str = ""
    """Region; the entry's own when empty."""
    image: Text
    """Name or ID of the image."""
    network_id: Text
    """Network of the VMs."""
    security_groups: tuple[Text, ...] = ()
    """Names or IDs; the project's default group when empty."""
    key_name: str = ""
    """Keypair for SSH; none when empty."""
    volume: Volume | None = None
    """Boot volume; the flavor's own disk when left out."""
    microversion: Annotated[str, Field(pattern=r"^2\.(79|8\d|90)$")] = "2.90"
    """Highest compute API microversion, 2.79 to 2.90; lowered to what the cloud knows."""
    premade_port: bool = False
    """Whether the port is made before the server, so that a full network is told at once."""
    config_drive: bool = False
    """Whether metadata also comes on a disk."""
    unlock: bool = False
    """Whether a lock is taken off a server in order to delete it."""
    force_delete_after: Annotated[int, Field(ge=0)] = 0
    """Ordinary deletions of one server before it is deleted by force; 0 never forces."""


class Intervals(Section):
    """`intervals`: how often the world is looked at when nobody calls."""

    tick: Annotated[Duration, Within(1, 60)] = 5.0
    """Time-outs and windows, and servers while any is being built."""
    servers: Annotated[Duration, Within(2, 3600)] = 30.0
    """Every server of this deployment."""
    jobs: Annotated[Duration, Within(5, 3600)] = 60.0
    """Waiting and running jobs, and registered runners."""
    leftovers: Annotated[Duration, Within(5, 86_400)] = 300.0
    """Ports, volumes and floating IPs that outlived their server."""
    quota: Annotated[Duration, Within(5, 86_400)] = 120.0
    """The project's limits."""
    redelivery: Annotated[Duration, Within(30, 86_400)] = 300.0
    """Failed webhook deliveries."""


class Config(Section):
    """The whole file."""

    deployment: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")]
    """Mark on everything that is created; what does not carry it is never touched."""
    callback_url: Address
    """Where VMs reach this server; https except on a trusted network."""
    name_prefix: Annotated[str, Field(pattern=r"^[a-z]([a-z0-9-]{0,14}[a-z0-9])?$")] = "gpu"
    """Beginning of every VM's and runner's name."""
    callback_key: SecretName = "callback-key"  # a name, not the key
    """Secret from which the VMs' tickets are made; at least 32 characters."""
    status_token: SecretName | None = None
    """Secret that opens the status page; no page without it."""
    metrics_token: SecretName | None = None
    """Secret that opens `/metrics`; open to all who reach the server when left out."""
    listen: Listen = Listen()
    """Where the server answers."""
    consoles: str = ""
    """Folder in which the console logs of VMs that failed in boot are kept; they are not kept when empty."""
    store: Store
    """Where the state lies."""
    queue: Queue | None = None
    """Between the functions on AWS; none in one process."""
    secrets: Secrets
    """Where secrets come from."""
    github: GitHub | None = None
    """The organisation or repositories whose jobs are served."""
    gitlab: GitLab | None = None
    """The projects whose jobs are served."""
    openstack: OpenStack
    """The project in which VMs are made."""
    pools: Annotated[tuple[Pool, ...], Field(min_length=1)]
    """Which jobs are served, on what, how many, and for how long."""
    max_vms: Annotated[int, Field(ge=0)] = 0
    """Live VMs over all pools at most; 0 leaves it to the quota."""
    sweep_grace: Annotated[Duration, Within(1, 86_400)] = 180.0
    """How long a leftover must be seen before it is removed."""
    job_seconds: Annotated[dict[str, Duration], Field(default_factory=dict[str, float])]
    """Known durations by `project/job name`, for `spot_up_to`."""
    intervals: Intervals = Intervals()
    """How often the world is looked at when nobody calls."""

    def to_core(self) -> core.Deployment:
        """Return what the core decides by."""
        return core.Deployment(
            deployment_id=self.deployment,
            pools=tuple(pool.to_core() for pool in self.pools),
            max_vms=self.max_vms,
            name_prefix=self.name_prefix,
            sweep_grace_s=self.sweep_grace,
            job_seconds=dict(self.job_seconds),
        )

    def template(self, pool: str, folder: Path) -> Path:
        """Return the user-data template of a pool, for a configuration in `folder`."""
        return next(entry for entry in self.pools if entry.name == pool).template(folder)
