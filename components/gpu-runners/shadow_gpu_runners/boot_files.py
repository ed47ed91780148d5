"""The files that the boot scripts read, rendered from typed settings; pure functions."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shadow_gpu_runners import boot
from shadow_gpu_runners._validation import Problems
from shadow_gpu_runners.cloud_init import BootFile, assemble

ETC = "/etc/shadow-runner"
_PACKAGE = re.compile(r"^[a-z0-9][a-z0-9+.-]+(:[a-z0-9]+)?(=[A-Za-z0-9.+:~*-]+)?$")
_NAME = re.compile(r"^[a-z0-9][a-z0-9-]*$")
_FINGERPRINT = re.compile(r"^[0-9A-F]{40}$")
_WEB_ADDRESS = re.compile(r"^https?://[^\s/]+(/\S*)?$")


@dataclass(frozen=True, slots=True)
class Repository:
    """An apt repository and the key that its packages must be signed with."""

    name: str
    """Short name; names the files in /etc/apt."""

    uri: str
    """Address of the repository."""

    key_url: str
    """Address of its armoured public key."""

    fingerprint: str
    """Fingerprint of that key, 40 hexadecimal digits; another key is refused."""

    suite: str = "/"
    """Distribution, or `/` for a flat repository."""

    components: tuple[str, ...] = ()
    """Components; none for a flat repository."""


NVIDIA_CONTAINER_TOOLKIT = Repository(
    name="nvidia-container-toolkit",
    uri="https://nvidia.github.io/libnvidia-container/stable/deb/amd64",
    key_url="https://nvidia.github.io/libnvidia-container/gpgkey",
    fingerprint="C95B321B61E88C1809C4F759DDCAE044F796ECB0",
)
"""NVIDIA's own repository of the container toolkit."""

GITLAB_RUNNER = Repository(
    name="gitlab-runner",
    uri="https://packages.gitlab.com/runner/gitlab-runner/ubuntu",
    key_url="https://packages.gitlab.com/gpg.key",
    fingerprint="F6403F6544A38863DAA0B6E03F01618A51312F3F",
    suite="jammy",
    components=("main",),
)
"""GitLab's own repository of GitLab Runner."""


@dataclass(frozen=True, slots=True)
class BootSettings:
    """What the boot scripts need to know besides the runner's configuration."""

    gpu_image: str
    """Image in which the GPU is checked before the runner starts."""

    gpu_count: int = 1
    """GPUs that the machine must show; 0 turns the gate off."""

    gpu_timeout_s: int = 300
    """Seconds to wait for a healthy GPU, on the host and again in the container."""

    gpu_interval_s: int = 5
    """Seconds between two looks at the GPU."""

    packages: tuple[str, ...] = ("docker.io", "nvidia-container-toolkit", "gitlab-runner")
    """apt packages, best pinned as `name=version`."""

    repositories: tuple[Repository, ...] = (NVIDIA_CONTAINER_TOOLKIT, GITLAB_RUNNER)
    """Repositories to add first."""

    apt_lock_timeout_s: int = 300
    """Seconds to wait for another apt or dpkg to finish."""

    registry_mirrors: tuple[str, ...] = ()
    """Pull-through mirrors of Docker Hub."""

    http_proxy: str = ""
    """Proxy for plain HTTP; may hold credentials."""

    https_proxy: str = ""
    """Proxy for HTTPS; may hold credentials."""

    no_proxy: str = ""
    """Hosts, comma separated, to reach directly."""

    docker: Mapping[str, object] = field(default_factory=dict[str, object])
    """Further keys of Docker's daemon.json."""


def check(settings: BootSettings, problems: Problems, path: str = "boot") -> None:
    """Note each fault of `settings` under `path` and the name of its input."""
    _check_numbers(settings, problems, path)
    for package in settings.packages:
        if not _PACKAGE.match(package):
            expected = "a Debian package as name or name=version"
            problems.add(f"{path}.packages", package, expected, "correct the name")
    for repository in settings.repositories:
        _check_repository(repository, problems, path)
    for mirror in settings.registry_mirrors:
        if not _WEB_ADDRESS.match(mirror):
            problems.add(f"{path}.registry_mirrors", mirror, "an http or https address", "add the scheme")
    for name, proxy in (("http_proxy", settings.http_proxy), ("https_proxy", settings.https_proxy)):
        if proxy and not _WEB_ADDRESS.match(proxy):
            problems.add_hidden(f"{path}.{name}", "an http or https address", "add the scheme")


def user_data(config_toml: str, settings: BootSettings) -> str:
    """Return the `#cloud-config` of a machine that becomes a GitLab runner with `config_toml`.

    Raises `UserDataTooLargeError` when it would not fit.
    """
    files = [BootFile(f"{ETC}/config.toml", config_toml), BootFile(f"{ETC}/boot.env", boot_env(settings))]
    files += [BootFile(f"{ETC}/daemon.json", daemon_json(settings), "0644")]
    files += repository_files(settings.repositories)
    if proxies := proxy_env(settings):
        files.append(BootFile(f"{ETC}/proxy.env", proxies))
    files += [BootFile(f"{boot.SCRIPT_FOLDER}/{name}", boot.script(name), "0755") for name in boot.SCRIPTS]
    return assemble(files, [["bash", f"{boot.SCRIPT_FOLDER}/boot.sh"]])


def boot_env(settings: BootSettings) -> str:
    """Return boot.env: shell assignments that the scripts read."""
    values = {
        "SHADOW_PACKAGES": " ".join(settings.packages),
        "SHADOW_APT_LOCK_TIMEOUT_S": settings.apt_lock_timeout_s,
        "SHADOW_GPU_COUNT": settings.gpu_count,
        "SHADOW_GPU_IMAGE": settings.gpu_image,
        "SHADOW_GPU_TIMEOUT_S": settings.gpu_timeout_s,
        "SHADOW_GPU_INTERVAL_S": settings.gpu_interval_s,
    }
    return "".join(f"{name}={shlex.quote(str(value))}\n" for name, value in values.items())


def daemon_json(settings: BootSettings) -> str:
    """Return Docker's daemon.json; `nvidia-ctk` adds the NVIDIA runtime to it on the machine.

    cgroupfs instead of systemd keeps a running container's GPU through `systemctl daemon-reload`.
    """
    daemon: dict[str, object] = {
        "exec-opts": ["native.cgroupdriver=cgroupfs"],
        "log-driver": "json-file",
        "log-opts": {"max-size": "50m", "max-file": "3"},
    }
    if settings.registry_mirrors:
        daemon["registry-mirrors"] = list(settings.registry_mirrors)
    return json.dumps(daemon | dict(settings.docker), indent=2) + "\n"


def proxy_env(settings: BootSettings) -> str:
    """Return proxy.env for systemd units and shells, in both spellings; empty without a proxy."""
    values = {
        "http_proxy": settings.http_proxy,
        "https_proxy": settings.https_proxy,
        "no_proxy": settings.no_proxy,
    }
    if not (settings.http_proxy or settings.https_proxy):
        return ""
    return "".join(
        f"{spelling}={shlex.quote(value)}\n"
        for name, value in values.items()
        if value
        for spelling in (name, name.upper())
    )


def repository_files(repositories: Sequence[Repository]) -> list[BootFile]:
    """Return the list of repositories and one apt source each, which become active with a right key."""
    index = "".join(f"{each.name} {each.key_url} {each.fingerprint}\n" for each in repositories)
    files = [BootFile(f"{ETC}/repositories", index, "0644")] if repositories else []
    return files + [
        BootFile(f"{ETC}/sources/{each.name}.sources", _sources(each), "0644") for each in repositories
    ]


def _check_numbers(settings: BootSettings, problems: Problems, path: str) -> None:
    limits = {"gpu_count": (0, 8), "gpu_timeout_s": (0, 3600), "gpu_interval_s": (1, 60)}
    limits |= {"apt_lock_timeout_s": (0, 3600)}
    for name, (low, high) in limits.items():
        value = getattr(settings, name)
        if not low <= value <= high:
            problems.add(f"{path}.{name}", value, f"{low} to {high}", "choose a value in that range")


def _check_repository(repository: Repository, problems: Problems, path: str) -> None:
    where = f"{path}.repositories.{repository.name}"
    if not _NAME.match(repository.name):
        problems.add(where, repository.name, "lower-case letters, digits and hyphens", "rename it")
    for part, address in (("uri", repository.uri), ("key_url", repository.key_url)):
        if not _WEB_ADDRESS.match(address):
            problems.add(f"{where}.{part}", address, "an http or https address", "add the scheme")
    if not _FINGERPRINT.match(repository.fingerprint):
        expected = "40 hexadecimal digits in upper case, without blanks"
        problems.add(f"{where}.fingerprint", repository.fingerprint, expected, "see gpg --show-keys")
    if bool(repository.components) == repository.suite.endswith("/"):
        expected = "components with a distribution, or none with a flat suite such as /"
        problems.add(f"{where}.components", list(repository.components), expected, "see its documentation")


def _sources(repository: Repository) -> str:
    lines = ["Types: deb", f"URIs: {repository.uri}", f"Suites: {repository.suite}"]
    if repository.components:
        lines.append(f"Components: {' '.join(repository.components)}")
    return "\n".join([*lines, f"Signed-By: /etc/apt/keyrings/{repository.name}.asc", ""])
