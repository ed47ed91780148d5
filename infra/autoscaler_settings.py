"""`autoscaler`: the controller machine, and the pools that it serves."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from setting_kinds import SECTION, Text, Whole
from shadow_gpu_runners.catalog import BOOT_VOLUME_GIB, BOOT_VOLUME_TYPE

Market = Literal["spot", "on-demand", "spot-then-on-demand"]


class _Section(BaseModel):
    model_config = SECTION


class JobVolume(_Section):
    """`autoscaler.pools[].volume`: what a machine boots from."""

    size: Annotated[Whole, Field(ge=10, le=4096)] = BOOT_VOLUME_GIB
    """GiB."""
    type: str = BOOT_VOLUME_TYPE
    """Volume type."""
    premade: bool = False
    """Whether it is made before its machine: it carries our mark from the start, and booting takes longer."""


class JobPool(_Section):
    """`autoscaler.pools[]`: which jobs get a machine of their own, and of what kind."""

    name: Annotated[str, Field(pattern=r"^[a-z]([a-z0-9-]{0,22}[a-z0-9])?$")]
    """Name, also of its machines."""
    forge: Literal["github", "gitlab"]
    """Where its jobs come from; `github` or `gitlab` of the stack must be set up."""
    labels: Annotated[list[Text], Field(min_length=1)]
    """Labels (GitLab: tags) that a job may ask for."""
    flavors: Annotated[list[Text], Field(min_length=1)]
    """On-demand names of the flavors, in the order in which they are tried; spot twins are derived."""
    market: Market = "spot-then-on-demand"
    """What is bought: all spot flavors first, then the on-demand ones."""
    max: Annotated[Whole, Field(ge=1)]
    """Machines at most."""
    zones: list[Text] = []
    """Availability zones to try in turn; the cloud's choice when empty."""
    image: str = ""
    """Image of the machines; `image.name` of the stack when empty."""
    gpu_image: str = "nvidia/cuda:12.1.0-base-ubuntu22.04"
    """Container image in which the GPU is checked, and GitLab's default for jobs."""
    volume: JobVolume = JobVolume()
    """Boot volume, deleted with its machine."""
    local_disk: bool = False
    """Boot from the host's own disk instead. Most of Shadow's hosts have none."""
    runner_archive: str = ""
    """GitHub: address of the runner's archive with `#sha256=` and checksum; none when the image has it."""
    packages: list[Text] | None = None
    """apt packages of the machines; Docker, NVIDIA's toolkit and the forge's runner when left out."""
    options: dict[str, Any] = {}
    """Further keys of the pool (docs/reference/autoscaler-config.md), such as `idle` and `policy`."""


class Tls(_Section):
    """`autoscaler.tls`: how the controller proves who it is."""

    mode: Literal["acme", "certificate", "none"] = "acme"
    """`acme`: got and renewed by Caddy; `certificate`: files; `none`: on loopback only."""
    email: str = ""
    """Address for the ACME authority."""
    certificate_file: str = ""
    """PEM chain; the key is the secret `autoscalerTlsKey`."""


class Autoscaler(_Section):
    """`autoscaler`: the controller machine, and the pools that it serves."""

    url: Text
    """Address under which forges and machines reach the controller."""
    flavor: Text
    """Flavor of the controller, a small one without a GPU."""
    image: str = ""
    """Image of the controller, with Python 3.11 or newer; `image.name` of the stack when empty."""
    wheel: str = ""
    """Address of the wheel with `#sha256=` and its checksum; $SHADOW_AUTOSCALER_WHEEL when empty."""
    index_url: str = ""
    """Package index of what the wheel needs; $SHADOW_AUTOSCALER_INDEX, or pip's own when empty."""
    cloud: str = ""
    """Entry of clouds.yaml whose credential the controller gets; the stack's own when empty."""
    tls: Tls = Tls()
    """How it proves who it is."""
    allow_from: list[Text] = ["0.0.0.0/0"]
    """IPv4 ranges that may reach it."""
    floating_ip: bool = False
    """Whether it gets an address reachable from outside."""
    pools: Annotated[list[JobPool], Field(min_length=1)]
    """Which jobs are served."""
    options: dict[str, Any] = {}
    """Further keys of its configuration (docs/reference/autoscaler-config.md), such as `max_vms`."""
