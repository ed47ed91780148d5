"""Packages that apt can install in a guest: where they come from, what they put in place, what they start."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from localcloud.standins import rootfs

UNITS = Path("/usr/local/lib/systemd/system")
STATUS = Path("/var/lib/dpkg/info-installed")
_SCRIPTS = Path(rootfs.HOST) / "standins/localcloud/standins"
_HOST_PROGRAMS = Path(rootfs.HOST) / "usr/bin"

_DOCKER_UNIT = """[Unit]
Description=Docker Application Container Engine
[Service]
Type=notify
ExecStart=/usr/bin/dockerd -H fd://
ExecReload=/bin/kill -s HUP $MAINPID
Restart=always
RestartSec=2
[Install]
WantedBy=multi-user.target
"""
_RUNNER_UNIT = """[Unit]
Description=GitLab Runner
After=syslog.target network.target
[Service]
ExecStart=/usr/bin/gitlab-runner run --config /etc/gitlab-runner/config.toml \
--working-directory /var/lib/gitlab-runner --service gitlab-runner --user gitlab-runner
Restart=always
RestartSec=120
[Install]
WantedBy=multi-user.target
"""


@dataclass(frozen=True, slots=True)
class Package:
    """One package; `source` is a word in its repository's address, empty for the distribution's own."""

    name: str
    version: str
    source: str = ""
    standins: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    """Programs that are linked to the host's, or files of this folder."""
    unit: str = ""
    unit_text: str = ""
    needs: tuple[str, ...] = field(default=())


def _docker(name: str, version: str, source: str, *needs: str) -> Package:
    return Package(
        name, version, source, ("docker", "dockerd", "containerd"), (), "docker", _DOCKER_UNIT, needs
    )


_ALL = (
    _docker("docker.io", "27.3.1-0ubuntu1~22.04.1", ""),
    _docker("docker-ce", "5:27.3.1-1~ubuntu.22.04~jammy", "docker", "docker-ce-cli", "containerd.io"),
    Package("docker-ce-cli", "5:27.3.1-1~ubuntu.22.04~jammy", "docker", ("docker",)),
    Package("containerd.io", "1.7.22-1", "docker", ("containerd",)),
    Package("docker-buildx-plugin", "0.17.1-1~ubuntu.22.04~jammy", "docker"),
    Package("docker-compose-plugin", "2.29.7-1~ubuntu.22.04~jammy", "docker"),
    Package(
        "nvidia-container-toolkit",
        "1.17.0-1",
        "nvidia",
        ("nvidia-ctk",),
        (),
        "",
        "",
        ("libnvidia-container1",),
    ),
    Package("nvidia-container-toolkit-base", "1.17.0-1", "nvidia", ("nvidia-ctk",)),
    Package("libnvidia-container1", "1.17.0-1", "nvidia"),
    Package("libnvidia-container-tools", "1.17.0-1", "nvidia"),
    Package(
        "gitlab-runner",
        "17.5.0-1",
        "gitlab",
        (),
        ("gitlab-runner",),
        "gitlab-runner",
        _RUNNER_UNIT,
        ("gitlab-runner-helper-images",),
    ),
    Package("gitlab-runner-helper-images", "17.5.0-1", "gitlab"),
    Package("jq", "1.6-2.1ubuntu3", programs=("jq",)),
    Package("git", "1:2.34.1-1ubuntu1", programs=("git",)),
    Package("curl", "7.81.0-1ubuntu1", standins=("curl",)),
    Package("wget", "1.21.2-2ubuntu1", standins=("wget",)),
    Package("gnupg", "2.2.27-3ubuntu2", standins=("gpg",)),
    Package("gpg", "2.2.27-3ubuntu2", standins=("gpg",)),
    Package("iptables", "1.8.7-1ubuntu5", standins=("iptables", "ip6tables")),
    *(
        Package(name, "1.0-1ubuntu1")
        for name in (
            "apt-transport-https",
            "ca-certificates",
            "debian-archive-keyring",
            "iptables-persistent",
            "lsb-release",
            "openssl",
            "python3",
            "python3-pip",
            "python3-venv",
            "software-properties-common",
            "tar",
            "unzip",
            "zstd",
            "build-essential",
        )
    ),
)
_IN_THE_IMAGE = {
    "ca-certificates": "20240203~22.04.1",
    "curl": "7.81.0-1ubuntu1",
    "wget": "1.21.2-2ubuntu1",
    "gnupg": "2.2.27-3ubuntu2",
    "gpg": "2.2.27-3ubuntu2",
    "iptables": "1.8.7-1ubuntu5",
    "openssl": "3.0.2-0ubuntu1",
    "python3": "3.10.6-1",
    "tar": "1.34",
    "nvidia-driver-550": "550.127.05-0ubuntu1",
    "libnvidia-compute-550": "550.127.05-0ubuntu1",
    "linux-image-5.15.0-124-generic": "5.15.0-124.134",
}


def find(name: str) -> Package | None:
    """The package of a name."""
    return next((package for package in _ALL if package.name == name), None)


def installed() -> dict[str, str]:
    """Installed packages and their versions."""
    if not STATUS.exists():
        return dict(_IN_THE_IMAGE)
    return dict(line.split(" ", 1) for line in STATUS.read_text().splitlines())


def _save(packages: dict[str, str]) -> None:
    STATUS.parent.mkdir(parents=True, exist_ok=True)
    STATUS.write_text("".join(f"{name} {version}\n" for name, version in packages.items()))


def accepts(package: Package, wanted: str) -> bool:
    """Whether a pinned version could be had: any version that is written as one."""
    return not wanted or wanted == package.version or bool(re.match(r"^(\d+:)?\d[\w.+:~*-]*$", wanted))


def put_in(package: Package, version: str = "") -> None:
    """Unpack and configure one package."""
    for name in package.standins:
        rootfs.install(Path("/"), name, "usr/sbin" if name.endswith("tables") else "usr/bin")
    for name in package.programs:
        _link(name)
    if package.unit:
        UNITS.mkdir(parents=True, exist_ok=True)
        (UNITS / f"{package.unit}.service").write_text(package.unit_text)
    if package.name == "gitlab-runner":
        Path("/etc/gitlab-runner").mkdir(mode=0o700, exist_ok=True)
        Path("/var/lib/gitlab-runner").mkdir(parents=True, exist_ok=True)
    _save(installed() | {package.name: version.replace("*", "0") or package.version})


def _link(name: str) -> None:
    own = _SCRIPTS / name
    link = Path("/usr/bin") / name
    link.unlink(missing_ok=True)
    link.symlink_to(own if own.exists() else _HOST_PROGRAMS / name)


def take_out(name: str) -> bool:
    """Remove one package; False where it wasn't installed."""
    packages, package = installed(), find(name)
    if name not in packages:
        return False
    del packages[name]
    _save(packages)
    for program in (*package.standins, *package.programs) if package else ():
        for folder in ("bin", "sbin"):
            (Path("/usr") / folder / program).unlink(missing_ok=True)
    if package and package.unit:
        (UNITS / f"{package.unit}.service").unlink(missing_ok=True)
    return True
