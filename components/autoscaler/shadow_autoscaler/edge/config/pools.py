"""`pools[]`: which jobs are served, on what, how many, and for how long."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from shadow_autoscaler.core import pools as core
from shadow_autoscaler.core.jobs import ForgeKind
from shadow_autoscaler.core.machines import Market
from shadow_autoscaler.edge.config.kinds import Clock, Duration, Section, Text, TimeZone, Within


class Rung(Section):
    """`pools[].ladder[]`: one flavor to try."""

    flavor: Text
    """Name of the flavor in the cloud."""
    market: Literal["spot", "on-demand"]
    """What is bought with it."""
    eur_per_hour: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """Price in EUR per hour; 0 where it is unknown."""
    vcpus: Annotated[int, Field(ge=0)] = 0
    """vCPUs of the flavor, so that the quota is known to be full before the cloud says so."""
    ram_mib: Annotated[int, Field(ge=0)] = 0
    """Memory of the flavor in MiB."""
    zones: tuple[Text, ...] = ()
    """Availability zones to try in turn; the cloud's choice when empty."""

    def to_core(self) -> core.Rung:
        """Return the core's form."""
        fields: dict[str, Any] = dict(self) | {"market": Market(self.market)}
        return core.Rung(**fields)


class Idle(Section):
    """`pools[].idle[]`: warm VMs at certain hours."""

    count: Annotated[int, Field(ge=1)]
    """How many VMs stand ready."""
    days: tuple[Annotated[int, Field(ge=0, le=6)], ...] = (0, 1, 2, 3, 4, 5, 6)
    """Weekdays; Monday is 0."""
    start: Clock = "00:00"
    """Local time of the beginning, inclusive."""
    end: Clock = "24:00"
    """Local time of the end, exclusive; a window may pass midnight."""
    timezone: TimeZone = "UTC"
    """Time zone of `start` and `end`."""

    def to_core(self) -> core.IdleWindow:
        """Return the core's form."""
        return core.IdleWindow(**dict(self))


class Policy(Section):
    """`pools[].policy`: whose jobs the pool runs. Patterns are shell globs, without regard to case."""

    repositories: tuple[Text, ...] = ("*",)
    """Repositories or GitLab projects that may use the pool."""
    branches: tuple[Text, ...] = ("*",)
    """Branches that may use it."""
    forks: bool = False
    """Whether code from forks may run on it."""
    on_demand_branches: tuple[Text, ...] = ()
    """Branches whose jobs never start on spot."""
    rerun: bool = True
    """Whether a job whose spot VM was taken is run again."""

    def to_core(self) -> core.Policy:
        """Return the core's form."""
        return core.Policy(**dict(self))


class Volume(Section):
    """`openstack.volume` and `pools[].volume`: the boot volume."""

    size_gib: Annotated[int, Field(ge=1, le=16_384)]
    """Size in GiB."""
    type: str = ""
    """Volume type; the cloud's default when empty."""
    premade: bool = False
    """Whether it is made before the server: it carries our mark from the start, and booting takes longer."""


class Pool(Section):
    """`pools[]`: a kind of runner and the VMs that stand behind it."""

    name: Annotated[str, Field(pattern=r"^[a-z]([a-z0-9-]{0,22}[a-z0-9])?$")]
    """Name of the pool: lower case letters, digits and hyphens, at most 24."""
    forge: Literal["github", "gitlab"]
    """Where its jobs come from."""
    labels: Annotated[tuple[Text, ...], Field(min_length=1, max_length=100)]
    """Every label (GitLab: tag) that a job may ask for."""
    ladder: Annotated[tuple[Rung, ...], Field(min_length=1)]
    """Flavors in the order in which they are tried; spot first is cheapest."""
    max: Annotated[int, Field(ge=1)]
    """Live VMs at most."""
    user_data_file: Text
    """Cloud-config template of the VMs; a relative path counts from this file's folder."""
    image: str = ""
    """Image instead of `openstack.image`."""
    volume: Volume | None = None
    """Boot volume instead of `openstack.volume`."""
    idle: tuple[Idle, ...] = ()
    """Warm VMs at certain hours."""
    runner_group: str = ""
    """GitHub runner group; the default group when empty."""
    priority: int = 0
    """Among pools that match a job the highest wins, then the one with fewest labels, then the name."""
    policy: Policy = Policy()
    """Whose jobs the pool runs."""
    spot_up_to: Annotated[Duration, Within(60)] | None = None
    """Jobs known to take longer start on-demand."""
    boot_timeout: Annotated[Duration, Within(60, 86_400)] = 900.0
    """From the create call to a good GPU."""
    pickup_timeout: Annotated[Duration, Within(30, 86_400)] = 300.0
    """From the hand-over of the configuration to a job."""
    job_deadline: Annotated[Duration, Within(60)] = 21_600.0
    """Longest that a job may run."""
    queue_deadline: Annotated[Duration, Within(60)] = 86_400.0
    """Longest that a job may wait; the forges fail it after a day."""
    max_lifetime: Annotated[Duration, Within(300)] = 86_400.0
    """Longest that a VM may live."""
    idle_timeout: Annotated[Duration, Within(60, 86_400)] = 1_800.0
    """How long a warm VM beyond the wanted number is kept."""
    cooldown: Annotated[Duration, Within(1, 86_400)] = 300.0
    """How long a flavor is left out after the cloud had no room for it."""
    boot_tries: Annotated[int, Field(ge=1)] = 3
    """VMs per job that may fail in boot before the job is left to wait."""
    reclaim_tries: Annotated[int, Field(ge=0)] = 1
    """Automatic re-runs of a job whose spot VM was taken."""
    breaker_failures: Annotated[int, Field(ge=1)] = 3
    """Failed boots in a row after which the pool is held."""
    breaker: Annotated[Duration, Within(60, 86_400)] = 1_800.0
    """How long it is held before one VM is tried again."""

    def to_core(self) -> core.Pool:
        """Return the core's form."""
        return core.Pool(
            name=self.name,
            forge=ForgeKind(self.forge),
            labels=self.labels,
            ladder=tuple(rung.to_core() for rung in self.ladder),
            max=self.max,
            idle=tuple(window.to_core() for window in self.idle),
            runner_group=self.runner_group,
            priority=self.priority,
            policy=self.policy.to_core(),
            spot_up_to_s=self.spot_up_to,
            boot_timeout_s=self.boot_timeout,
            pickup_timeout_s=self.pickup_timeout,
            job_deadline_s=self.job_deadline,
            queue_deadline_s=self.queue_deadline,
            max_lifetime_s=self.max_lifetime,
            idle_timeout_s=self.idle_timeout,
            cooldown_s=self.cooldown,
            boot_tries=self.boot_tries,
            reclaim_tries=self.reclaim_tries,
            breaker_failures=self.breaker_failures,
            breaker_s=self.breaker,
        )

    def template(self, folder: Path) -> Path:
        """Return where the user-data template lies, for a configuration in `folder`."""
        return folder / self.user_data_file
