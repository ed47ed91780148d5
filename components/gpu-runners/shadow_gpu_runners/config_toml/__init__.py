"""GitLab Runner's config.toml as typed values: checked with all faults at once, rendered to be read."""

from shadow_gpu_runners.config_toml.check import (
    UNKNOWN,
    check_cache,
    check_docker,
    check_environment,
    check_table,
    texts,
)
from shadow_gpu_runners.config_toml.docker import DockerOptions, ServiceOptions
from shadow_gpu_runners.config_toml.render import (
    DOCKER_DEFAULTS,
    GLOBAL_DEFAULTS,
    HOSTNAME,
    RunnerConfig,
    render,
)
from shadow_gpu_runners.config_toml.runner import (
    ArtifactOptions,
    CacheOptions,
    CustomBuildDirOptions,
    GlobalOptions,
    RunnerOptions,
    S3Options,
)

__all__ = [
    "DOCKER_DEFAULTS",
    "GLOBAL_DEFAULTS",
    "HOSTNAME",
    "UNKNOWN",
    "ArtifactOptions",
    "CacheOptions",
    "CustomBuildDirOptions",
    "DockerOptions",
    "GlobalOptions",
    "RunnerConfig",
    "RunnerOptions",
    "S3Options",
    "ServiceOptions",
    "check_cache",
    "check_docker",
    "check_environment",
    "check_table",
    "render",
    "texts",
]
