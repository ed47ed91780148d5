"""Options of config.toml outside `[runners.docker]`, as GitLab Runner 19.4 defines them."""

from typing import TypedDict

import pulumi


class GlobalOptions(TypedDict, total=False):
    """Options of the whole process."""

    concurrent: pulumi.Input[int]
    """Jobs at the same time on one machine."""

    check_interval: pulumi.Input[int]
    """Seconds between two questions for jobs."""

    log_level: pulumi.Input[str]
    """`debug`, `info`, `warn`, `error`, `fatal` or `panic`."""

    log_format: pulumi.Input[str]
    """`runner`, `text` or `json`."""

    listen_address: pulumi.Input[str]
    """`host:port` of the metrics server; none when left out."""

    connection_max_age: pulumi.Input[str]
    """How long a connection to GitLab is kept, for example `15m`."""

    shutdown_timeout: pulumi.Input[int]
    """Seconds from a forced shutdown to the end of the process."""

    sentry_dsn: pulumi.Input[str]
    """Where errors are reported to; off when left out."""


class S3Options(TypedDict, total=False):
    """`[runners.cache.s3]`: an S3 bucket, also one of an OpenStack object store."""

    server_address: pulumi.Input[str]
    """`host[:port]` of the store; Amazon's own when left out."""

    bucket_name: pulumi.Input[str]
    """Bucket of the cache."""

    bucket_location: pulumi.Input[str]
    """Region of the bucket."""

    access_key: pulumi.Input[str]
    """Access key (treated as a secret)."""

    secret_key: pulumi.Input[str]
    """Secret key (a secret)."""

    session_token: pulumi.Input[str]
    """Session token of short-lived keys (a secret)."""

    insecure: pulumi.Input[bool]
    """Whether plain HTTP is used."""

    authentication_type: pulumi.Input[str]
    """`access-key` or `iam`."""

    server_side_encryption: pulumi.Input[str]
    """`S3`, `KMS` or `DSSE-KMS`."""

    server_side_encryption_key_id: pulumi.Input[str]
    """Key of that encryption."""

    dual_stack: pulumi.Input[bool]
    """Whether IPv4 and IPv6 endpoints are used."""

    path_style: pulumi.Input[bool]
    """Whether the bucket stands in the path; most OpenStack stores want it."""

    accelerate: pulumi.Input[bool]
    """Whether transfer acceleration is used."""

    role_arn: pulumi.Input[str]
    """Role for downloads."""

    upload_role_arn: pulumi.Input[str]
    """Role for uploads."""

    assume_role_max_concurrency: pulumi.Input[int]
    """Most role requests at a time."""

    disable_assume_role_credentials_caching: pulumi.Input[bool]
    """Whether role credentials are asked for anew each time."""


class CacheOptions(TypedDict, total=False):
    """`[runners.cache]`: where job caches are kept."""

    type: pulumi.Input[str]
    """Kind of store: `s3`."""

    path: pulumi.Input[str]
    """Prefix of objects."""

    shared: pulumi.Input[bool]
    """Whether runners share their caches."""

    max_uploaded_archive_size: pulumi.Input[int]
    """Largest archive in bytes; 0 for no limit."""

    redact_url: pulumi.Input[bool]
    """Whether job logs hide the store's address."""

    s3: S3Options
    """The S3 bucket."""


class CustomBuildDirOptions(TypedDict, total=False):
    """`[runners.custom_build_dir]`."""

    enabled: pulumi.Input[bool]
    """Whether jobs may choose their folder by `GIT_CLONE_PATH`."""


class ArtifactOptions(TypedDict, total=False):
    """`[runners.artifact]`."""

    upload_timeout: pulumi.Input[str]
    """Most time of an upload, for example `30m`."""

    response_header_timeout: pulumi.Input[str]
    """Most time that GitLab may take to answer one."""


class RunnerOptions(TypedDict, total=False):
    """Options of one `[[runners]]` entry besides name, URL, token and executor."""

    limit: pulumi.Input[int]
    """Most jobs of this entry on one machine; 0 for no limit but `concurrent`."""

    output_limit: pulumi.Input[int]
    """Largest job log in KiB."""

    request_concurrency: pulumi.Input[int]
    """Most questions for jobs at a time."""

    strict_check_interval: pulumi.Input[bool]
    """Whether `check_interval` holds after a job was received, too."""

    unhealthy_requests_limit: pulumi.Input[int]
    """Failed questions for jobs until the runner pauses itself."""

    unhealthy_interval: pulumi.Input[str]
    """How long it pauses, for example `2m`."""

    job_status_final_update_retry_limit: pulumi.Input[int]
    """Tries of reporting a job's end."""

    environment: pulumi.Input[list[str]]
    """Variables of all jobs as `KEY=value`."""

    pre_get_sources_script: pulumi.Input[str]
    """Commands before the clone."""

    post_get_sources_script: pulumi.Input[str]
    """Commands after the clone."""

    pre_build_script: pulumi.Input[str]
    """Commands before the job's script."""

    post_build_script: pulumi.Input[str]
    """Commands after the job's script."""

    clone_url: pulumi.Input[str]
    """GitLab's address as job containers reach it."""

    builds_dir: pulumi.Input[str]
    """Folder of builds inside job containers."""

    cache_dir: pulumi.Input[str]
    """Folder of caches inside job containers."""

    tls_ca_file: pulumi.Input[str]
    """File on the machine with the certificate authority of GitLab."""

    tls_cert_file: pulumi.Input[str]
    """File on the machine with a client certificate."""

    tls_key_file: pulumi.Input[str]
    """File on the machine with its key."""

    shell: pulumi.Input[str]
    """Shell of job scripts: `bash`, `sh` or `pwsh`."""

    proxy_exec: pulumi.Input[bool]
    """Whether job commands run through the helper, which can mask secrets."""

    prepare_timeout: pulumi.Input[str]
    """Most time of a job's preparation, for example `10m`."""

    get_sources_timeout: pulumi.Input[str]
    """Most time of the clone."""

    debug_trace_disabled: pulumi.Input[bool]
    """Whether `CI_DEBUG_TRACE` is ignored."""

    safe_directory_checkout: pulumi.Input[bool]
    """Whether Git's safe.directory is set for the clone."""

    clean_git_config: pulumi.Input[bool]
    """Whether the Git configuration is cleaned around a job."""

    feature_flags: pulumi.Input[dict[str, bool]]
    """Feature flags as `FF_NAME` to on or off."""

    labels: pulumi.Input[dict[str, str]]
    """Labels in the runner's own metrics and logs."""

    use_slot_cgroups: pulumi.Input[bool]
    """Whether each job slot has its own control group."""

    slot_cgroup_template: pulumi.Input[str]
    """Name of that group; holds `${slot}`."""

    step_runner_image: pulumi.Input[str]
    """Image of the step runner."""

    custom_build_dir: CustomBuildDirOptions
    """Folders that jobs choose themselves."""

    artifact: ArtifactOptions
    """Uploads of artifacts."""
