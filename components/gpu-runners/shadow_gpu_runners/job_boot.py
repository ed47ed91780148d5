"""User-data of a machine that runs one CI job: a template that the autoscaler fills in; pure functions.

It holds no secret: GitHub's JIT configuration and GitLab's runner token are handed over by the controller
once the GPU has proved healthy. The placeholders stand in one small file, for plain text replacement.
"""

import shlex
from dataclasses import dataclass, field
from typing import Literal

from shadow_gpu_runners import boot, boot_files
from shadow_gpu_runners._validation import Problems
from shadow_gpu_runners.boot_files import ETC, BootSettings
from shadow_gpu_runners.cloud_init import BootFile, assemble

PLACEHOLDERS = ("@SHADOW_VM@", "@SHADOW_TICKET@", "@SHADOW_CALLBACK@")
"""What the autoscaler replaces: the machine's name, its ticket, the controller's address."""

TOKEN_PLACEHOLDER = "@TOKEN@"  # noqa: S105  # the placeholder of a token, not one
"""What the machine itself replaces in config.toml once it has the token."""

Kind = Literal["github", "gitlab"]
_PACKAGES: dict[Kind, tuple[str, ...]] = {
    "github": ("docker.io", "nvidia-container-toolkit"),
    "gitlab": ("docker.io", "nvidia-container-toolkit", "gitlab-runner"),
}


def packages(kind: Kind) -> tuple[str, ...]:
    """Return the apt packages that a machine of that kind needs."""
    return _PACKAGES[kind]


@dataclass(frozen=True, slots=True)
class JobSettings:
    """What a machine of one job needs to know besides `BootSettings`."""

    kind: Kind
    """Whose job it runs."""

    config_toml: str = ""
    """GitLab: config.toml with `@TOKEN@` for the token and `@HOSTNAME@` for the runner's name."""

    runner_folder: str = "/opt/actions-runner"
    """GitHub: where its runner lies, in the image or from the archive."""

    runner_archive_url: str = ""
    """GitHub: address of the runner's archive; none when the image has it."""

    runner_archive_sha256: str = ""
    """GitHub: checksum of that archive."""

    reclaim_pointers: tuple[str, ...] = ("/meta/spot_termination_time",)
    """JSON pointers into `meta_data.json` where a spot reclaim may be announced."""

    reclaim_paths: tuple[str, ...] = ("/latest/meta-data/spot/termination-time",)
    """Paths of the metadata service that exist once a reclaim is announced."""

    watch_interval_s: float = 5
    """Seconds between two looks for the announcement."""

    config_timeout_s: float = 900
    """Seconds to wait for the hand-over of a configuration."""

    callback_ca: str = ""
    """PEM of the authority that signed the controller's certificate; the system's own when empty."""

    boot: BootSettings = field(default_factory=lambda: BootSettings(gpu_image=""))
    """Packages, GPU gate, mirrors and proxies."""


def check(settings: JobSettings, problems: Problems, path: str = "job") -> None:
    """Note each fault of `settings` under `path` and the name of its input."""
    if bool(settings.runner_archive_url) != bool(settings.runner_archive_sha256):
        expected = "an address and its SHA-256, or neither"
        problems.add(f"{path}.runner_archive_url", settings.runner_archive_url, expected, "give both")
    for pointer in settings.reclaim_pointers:
        if not pointer.startswith("/") or any(letter.isspace() for letter in pointer):
            problems.add(
                f"{path}.reclaim_pointers", pointer, "a JSON pointer such as /meta/key", "start with /"
            )
    for place in settings.reclaim_paths:
        if not place.startswith("/") or any(letter.isspace() for letter in place):
            problems.add(f"{path}.reclaim_paths", place, "a path such as /latest/meta-data/x", "start with /")
    if settings.kind == "gitlab" and TOKEN_PLACEHOLDER not in settings.config_toml:
        problems.add_hidden(
            f"{path}.config_toml", f"a config.toml with {TOKEN_PLACEHOLDER}", "leave the token out"
        )
    boot_files.check(settings.boot, problems, f"{path}.boot")


def user_data(settings: JobSettings) -> str:
    """Return the `#cloud-config` template of machines that run one job each.

    Raises `UserDataTooLargeError` when it would not fit.
    """
    files = [BootFile(f"{ETC}/job.env", _job_env(settings)), *_boot_files(settings)]
    names = [name for name in boot.SCRIPTS if name not in {"boot.sh", "guard.sh", "runner.sh"}]
    files += [
        BootFile(f"{boot.SCRIPT_FOLDER}/{name}", boot.script(name), "0755")
        for name in (*boot.JOB_SCRIPTS, *names)
    ]
    document = assemble(files, [["bash", f"{boot.SCRIPT_FOLDER}/job.sh"]])
    missing = [mark for mark in PLACEHOLDERS if mark not in document]
    if missing:
        raise ValueError(
            f"user-data: {', '.join(missing)} got compressed away; shorten config_toml or daemon.json"
        )
    return document


def _boot_files(settings: JobSettings) -> list[BootFile]:
    wanted = settings.boot
    files = [
        BootFile(f"{ETC}/boot.env", boot_files.boot_env(wanted)),
        BootFile(f"{ETC}/daemon.json", boot_files.daemon_json(wanted), "0644"),
        *boot_files.repository_files(wanted.repositories),
    ]
    if proxies := boot_files.proxy_env(wanted):
        files.append(BootFile(f"{ETC}/proxy.env", proxies))
    if settings.config_toml:
        files.append(BootFile(f"{ETC}/config.toml.template", settings.config_toml))
    if settings.callback_ca:
        files.append(BootFile(f"{ETC}/callback-ca.pem", settings.callback_ca, "0644"))
    return files


def _job_env(settings: JobSettings) -> str:
    values: dict[str, object] = {
        "SHADOW_KIND": settings.kind,
        "SHADOW_RUNNER_FOLDER": settings.runner_folder,
        "SHADOW_RUNNER_ARCHIVE_URL": settings.runner_archive_url,
        "SHADOW_RUNNER_ARCHIVE_SHA256": settings.runner_archive_sha256,
        "SHADOW_RECLAIM_POINTERS": " ".join(settings.reclaim_pointers),
        "SHADOW_RECLAIM_PATHS": " ".join(settings.reclaim_paths),
        "SHADOW_WATCH_INTERVAL_S": settings.watch_interval_s,
        "SHADOW_CONFIG_TIMEOUT_S": settings.config_timeout_s,
        "SHADOW_CALLBACK_CA": f"{ETC}/callback-ca.pem" if settings.callback_ca else "",
    }
    marks = zip(("SHADOW_VM", "SHADOW_TICKET", "SHADOW_CALLBACK"), PLACEHOLDERS, strict=True)
    return "".join(f"{name}={shlex.quote(str(value))}\n" for name, value in [*marks, *values.items()])
