"""Options of `[runners.docker]` as GitLab Runner 19.4 defines them (common/config.go, `DockerConfig`)."""

from typing import NotRequired, TypedDict

import pulumi


class ServiceOptions(TypedDict):
    """A service container started beside every job."""

    name: pulumi.Input[str]
    """Image of the service."""

    alias: NotRequired[pulumi.Input[str]]
    """Host names, blank or comma separated, under which jobs reach it."""

    command: NotRequired[pulumi.Input[list[str]]]
    """Command instead of the image's own."""

    entrypoint: NotRequired[pulumi.Input[list[str]]]
    """Entry point instead of the image's own."""

    environment: NotRequired[pulumi.Input[list[str]]]
    """Variables as `KEY=value`."""

    suspend_data_path: NotRequired[pulumi.Input[str]]
    """Folder in the service whose data is kept when it is suspended."""


class DockerOptions(TypedDict, total=False):
    """Every option of `[runners.docker]`; names as in config.toml."""

    image: pulumi.Input[str]
    """Image of jobs that name none; the GPU is checked in it too."""

    gpus: pulumi.Input[str]
    """GPUs that jobs see, in the form of `docker run --gpus`: text such as `all` or `device=0`."""

    service_gpus: pulumi.Input[str]
    """GPUs that service containers see."""

    privileged: pulumi.Input[bool]
    """Whether jobs get the host's full rights; a job can then read the runner's token."""

    services_privileged: pulumi.Input[bool]
    """The same for service containers; follows `privileged` when left out."""

    allowed_privileged_images: pulumi.Input[list[str]]
    """Patterns of images that may run privileged; all when left out."""

    allowed_privileged_services: pulumi.Input[list[str]]
    """The same for services."""

    disable_cache: pulumi.Input[bool]
    """Whether jobs lose the automatic cache volumes."""

    volumes: pulumi.Input[list[str]]
    """Volumes of job containers, as in `docker run --volume`."""

    volume_keep: pulumi.Input[bool]
    """Whether volumes of a job stay after it."""

    volume_driver: pulumi.Input[str]
    """Driver of named volumes."""

    volume_driver_ops: pulumi.Input[dict[str, str]]
    """Options of that driver."""

    volumes_from: pulumi.Input[list[str]]
    """Containers whose volumes jobs inherit."""

    cache_dir: pulumi.Input[str]
    """Folder of Docker's caches, absolute or relative to the working folder."""

    pull_policy: pulumi.Input[list[str]]
    """Pull policies tried in order: `always`, `if-not-present`, `never`."""

    allowed_pull_policies: pulumi.Input[list[str]]
    """Pull policies that a job may ask for."""

    allowed_images: pulumi.Input[list[str]]
    """Patterns of images that jobs may name; all when left out."""

    allowed_services: pulumi.Input[list[str]]
    """Patterns of services that jobs may name; all when left out."""

    allowed_users: pulumi.Input[list[str]]
    """Users that jobs may run as; all when left out."""

    user: pulumi.Input[str]
    """User that every job command runs as."""

    group_add: pulumi.Input[list[str]]
    """Further groups of that user."""

    hostname: pulumi.Input[str]
    """Host name inside job containers."""

    runtime: pulumi.Input[str]
    """Container runtime, for example `nvidia`."""

    isolation: pulumi.Input[str]
    """Isolation of Windows containers: `default`, `hyperv`, `process`."""

    memory: pulumi.Input[str]
    """Memory limit, for example `12g`."""

    memory_swap: pulumi.Input[str]
    """Limit of memory and swap together."""

    memory_reservation: pulumi.Input[str]
    """Soft memory limit."""

    shm_size: pulumi.Input[int]
    """Size of /dev/shm in bytes; PyTorch's data loaders want more than Docker's 64 MiB."""

    cpus: pulumi.Input[str]
    """Number of CPUs as text, for example `1.5`."""

    cpu_shares: pulumi.Input[int]
    """Relative CPU weight."""

    cpuset_cpus: pulumi.Input[str]
    """CPUs to use, for example `0-3`."""

    cpuset_mems: pulumi.Input[str]
    """Memory nodes to use."""

    cgroup_parent: pulumi.Input[str]
    """Parent control group."""

    oom_kill_disable: pulumi.Input[bool]
    """Whether the kernel spares the container when memory runs out."""

    oom_score_adjust: pulumi.Input[int]
    """How readily the kernel kills it, -1000 to 1000."""

    ulimit: pulumi.Input[dict[str, str]]
    """Limits of processes as name to `soft:hard`."""

    sysctls: pulumi.Input[dict[str, str]]
    """Kernel parameters of the container."""

    tmpfs: pulumi.Input[dict[str, str]]
    """Memory file systems as path to mount options."""

    services_tmpfs: pulumi.Input[dict[str, str]]
    """The same for services."""

    devices: pulumi.Input[list[str]]
    """Host devices of job containers."""

    services_devices: pulumi.Input[dict[str, list[str]]]
    """Host devices of service containers as image pattern to devices."""

    device_cgroup_rules: pulumi.Input[list[str]]
    """Device rules, for example `c 195:* rmw`."""

    cap_add: pulumi.Input[list[str]]
    """Capabilities that jobs get."""

    cap_drop: pulumi.Input[list[str]]
    """Capabilities that jobs lose."""

    security_opt: pulumi.Input[list[str]]
    """Security options as `key:value`."""

    services_security_opt: pulumi.Input[list[str]]
    """The same for services."""

    userns_mode: pulumi.Input[str]
    """User namespace mode."""

    pid_mode: pulumi.Input[str]
    """Process namespace mode."""

    ipcmode: pulumi.Input[str]
    """Inter-process communication mode."""

    network_mode: pulumi.Input[str]
    """Network of the containers; `host` gives jobs the metadata service."""

    network_mtu: pulumi.Input[int]
    """MTU of per-build networks."""

    enable_ipv6: pulumi.Input[bool]
    """Whether per-build networks have IPv6."""

    mac_address: pulumi.Input[str]
    """MAC address of the container."""

    dns: pulumi.Input[list[str]]
    """Resolvers of job containers."""

    dns_search: pulumi.Input[list[str]]
    """Search domains of job containers."""

    extra_hosts: pulumi.Input[list[str]]
    """Host entries as `name:address`."""

    links: pulumi.Input[list[str]]
    """Containers linked as `container:alias`."""

    services: pulumi.Input[list[ServiceOptions]]
    """Services started beside every job."""

    services_limit: pulumi.Input[int]
    """How many services a job may have; -1 for no limit."""

    service_memory: pulumi.Input[str]
    """Memory limit of services."""

    service_memory_swap: pulumi.Input[str]
    """Limit of memory and swap of services."""

    service_memory_reservation: pulumi.Input[str]
    """Soft memory limit of services."""

    service_cgroup_parent: pulumi.Input[str]
    """Parent control group of services."""

    service_slot_cgroup_template: pulumi.Input[str]
    """Control group of services per slot; holds `${slot}`."""

    service_cpuset_cpus: pulumi.Input[str]
    """CPUs of services."""

    service_cpus: pulumi.Input[str]
    """Number of CPUs of services as text."""

    service_cpu_shares: pulumi.Input[int]
    """Relative CPU weight of services."""

    wait_for_services_timeout: pulumi.Input[int]
    """Seconds to wait for services; -1 not to wait."""

    disable_entrypoint_overwrite: pulumi.Input[bool]
    """Whether jobs may not replace an image's entry point."""

    helper_image: pulumi.Input[str]
    """Image of the helper that clones and uploads."""

    helper_image_flavor: pulumi.Input[str]
    """Flavor of that helper, for example `alpine` or `ubuntu`."""

    container_labels: pulumi.Input[dict[str, str]]
    """Labels of job containers."""

    log_options: pulumi.Input[dict[str, str]]
    """Options of Docker's json-file log driver for job containers."""

    host: pulumi.Input[str]
    """Address of the Docker daemon; its own socket when left out."""

    tls_cert_path: pulumi.Input[str]
    """Folder with client certificates of that daemon."""

    tls_verify: pulumi.Input[bool]
    """Whether its certificate is verified."""
