"""Option names and kinds in GitLab Runner 19.4 (common/config.go, cache/cacheconfig/cacheconfig.go)."""

from shadow_gpu_runners.config_toml.kinds import Kind

DOCKER = {
    Kind.TEXT: """
        hostname image runtime memory memory_swap memory_reservation cgroup_parent cpuset_cpus
        cpuset_mems cpus user userns_mode gpus volume_driver cache_dir network_mode pid_mode ipcmode
        mac_address service_memory service_memory_swap service_memory_reservation service_cgroup_parent
        service_slot_cgroup_template service_cpuset_cpus service_cpus service_gpus isolation
        helper_image helper_image_flavor host tls_cert_path
    """,
    Kind.INT: """
        cpu_shares oom_score_adjust services_limit service_cpu_shares wait_for_services_timeout shm_size
        network_mtu
    """,
    Kind.TEXTS: """
        dns dns_search allowed_users group_add cap_add cap_drop security_opt services_security_opt
        devices device_cgroup_rules volumes extra_hosts volumes_from links allowed_images
        allowed_privileged_images allowed_privileged_services allowed_pull_policies allowed_services
        pull_policy
    """,
    Kind.BOOL: """
        privileged services_privileged disable_entrypoint_overwrite oom_kill_disable disable_cache
        volume_keep enable_ipv6 tls_verify
    """,
    Kind.LIST_TABLE: """
        services_devices
    """,
    Kind.TEXT_TABLE: """
        volume_driver_ops tmpfs services_tmpfs sysctls container_labels ulimit log_options
    """,
    Kind.TABLES: """
        services
    """,
}
SERVICE = {
    Kind.TEXT: """
        name alias suspend_data_path
    """,
    Kind.TEXTS: """
        command entrypoint environment
    """,
}
RUNNER = {
    Kind.INT: """
        limit output_limit request_concurrency unhealthy_requests_limit
        job_status_final_update_retry_limit
    """,
    Kind.BOOL: """
        strict_check_interval proxy_exec debug_trace_disabled safe_directory_checkout clean_git_config
        use_slot_cgroups
    """,
    Kind.TEXT: """
        unhealthy_interval tls-ca-file tls-cert-file tls-key-file builds_dir cache_dir clone_url
        pre_get_sources_script post_get_sources_script pre_build_script post_build_script
        prepare_timeout get_sources_timeout shell slot_cgroup_template step_runner_image
    """,
    Kind.TEXT_TABLE: """
        labels
    """,
    Kind.TEXTS: """
        environment
    """,
    Kind.BOOL_TABLE: """
        feature_flags
    """,
    Kind.TABLE: """
        custom_build_dir artifact
    """,
}
PROCESS = {
    Kind.INT: """
        concurrent check_interval shutdown_timeout
    """,
    Kind.TEXT: """
        log_level log_format listen_address connection_max_age sentry_dsn
    """,
}
CACHE = {
    Kind.TEXT: """
        Type Path
    """,
    Kind.BOOL: """
        Shared RedactURL
    """,
    Kind.INT: """
        MaxUploadedArchiveSize
    """,
    Kind.TABLE: """
        s3
    """,
}
S3 = {
    Kind.TEXT: """
        ServerAddress AccessKey SecretKey SessionToken BucketName BucketLocation AuthenticationType
        ServerSideEncryption ServerSideEncryptionKeyID RoleARN UploadRoleARN
    """,
    Kind.BOOL: """
        Insecure DualStack PathStyle Accelerate DisableAssumeRoleCredentialsCaching
    """,
    Kind.INT: """
        AssumeRoleMaxConcurrency
    """,
}
ARTIFACT = {
    Kind.TEXT: """
        upload_timeout response_header_timeout
    """,
}


def table(grouped: dict[Kind, str]) -> dict[str, Kind]:
    """Return option name to kind."""
    return {name: kind for kind, names in grouped.items() for name in names.split()}
