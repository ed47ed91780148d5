"""Containers of a guest: a root of their own in a nested bubblewrap, and the files that remember them."""

import json
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from localcloud.standins import rootfs
from localcloud.standins.hardware import MARKS
from localcloud.standins.images import Image

RECORDS = Path("/run/docker/containers")
DISKS = Path("/var/lib/docker/containers")
VOLUMES = Path("/var/lib/docker/volumes")
PATH = (
    "/usr/local/nvidia/bin:/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)
_CAPABILITIES = (
    "CHOWN",
    "DAC_OVERRIDE",
    "FSETID",
    "FOWNER",
    "SETGID",
    "SETUID",
    "SETFCAP",
    "SETPCAP",
    "NET_BIND_SERVICE",
    "SYS_CHROOT",
    "KILL",
    "AUDIT_WRITE",
)
_NOT_IN_IMAGES = re.compile(r"python.*|pip.*|git.*|gcc.*|g\+\+.*|cc|c\+\+|bwrap|nsenter|ssh.*")
_TOOLS = ("curl", "wget", "apt", "apt-get", "apt-cache", "dpkg", "dpkg-query", "gpg")


@dataclass(slots=True)
class Container:
    """One container as the daemon knows it; `pid` is its process 1 as the guest sees it."""

    id: str
    name: str
    image: str
    command: list[str]
    network: str = "bridge"
    gpus: str = ""
    user: str = ""
    workdir: str = "/"
    hostname: str = ""
    env: dict[str, str] = field(default_factory=dict[str, str])
    binds: list[tuple[str, str, bool]] = field(default_factory=list[tuple[str, str, bool]])
    remove: bool = False
    pid: int = 0
    pid_namespace: int = 0
    exit_code: int | None = None

    @property
    def root(self) -> Path:
        """Its root folder."""
        return DISKS / self.id / "rootfs"

    @property
    def log(self) -> Path:
        """What it wrote while detached."""
        return DISKS / self.id / "output.log"

    def running(self) -> bool:
        """Whether its process 1 lives."""
        return bool(self.pid) and namespace_of(self.pid) == self.pid_namespace

    def save(self) -> None:
        """Write its record."""
        RECORDS.mkdir(parents=True, exist_ok=True)
        draft = RECORDS / f".{self.id}"
        draft.write_text(json.dumps(asdict(self)))
        draft.chmod(0o600)
        draft.replace(RECORDS / f"{self.id}.json")

    def delete(self) -> None:
        """Remove record and disk."""
        (RECORDS / f"{self.id}.json").unlink(missing_ok=True)
        shutil.rmtree(DISKS / self.id, ignore_errors=True)


def new_id() -> str:
    """A container id as Docker makes them."""
    return secrets.token_hex(32)


def namespace_of(pid: int) -> int:
    """Inode of a process's pid namespace; 0 where it is gone."""
    try:
        return Path(f"/proc/{pid}/ns/pid").stat().st_ino
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0


def all_containers() -> list[Container]:
    """Every container with a record."""
    found = list[Container]()
    for path in sorted(RECORDS.glob("*.json")):
        try:
            stored = json.loads(path.read_text())
        except FileNotFoundError:
            continue
        stored["binds"] = [(source, target, bool(ro)) for source, target, ro in stored["binds"]]
        found.append(Container(**stored))
    return found


def find(wanted: str) -> Container | None:
    """The container of a name or of an id's beginning."""
    return next((c for c in all_containers() if c.name == wanted or c.id.startswith(wanted)), None)


def build(container: Container, image: Image) -> None:
    """Make its root folder."""
    root = container.root
    rootfs.build(root, Path(rootfs.HOST) / "usr", Path("/etc"), container.hostname or container.id[:12])
    _hide_programs(root, image)
    for tool in _TOOLS:
        rootfs.install(root, tool)
    if image.python:
        (root / "usr/local/bin/python").symlink_to("/usr/bin/python3")
    if container.gpus:
        rootfs.install(root, "nvidia-smi")
    for name in ("dpkg", "apt"):
        (root / "var/lib" / name).mkdir(parents=True, exist_ok=True)
    (root / ".dockerenv").touch()
    for path in (container.workdir, *(str(Path(target).parent) for _, target, _ in container.binds)):
        (root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)


def _hide_programs(root: Path, image: Image) -> None:
    for entry in os.scandir(root / "usr/bin"):
        if _NOT_IN_IMAGES.fullmatch(entry.name) and not (image.python and not entry.name.startswith("bwrap")):
            Path(entry.path).unlink()


def has_program(container: Container, name: str) -> bool:
    """Whether the container can execute a program (its links point to what only it sees)."""
    folders = PATH.split(":") if "/" not in name else [""]
    mounted = [target for _, target, _ in container.binds]
    if "/" in name and any(name.startswith(target) for target in mounted):
        return True
    return any(os.path.lexists(container.root / folder.lstrip("/") / name.lstrip("/")) for folder in folders)


def sandbox(container: Container, info_fd: int) -> list[str]:
    """The bubblewrap command line that runs it."""
    root, host = str(container.root), rootfs.HOST
    words = [f"{host}/usr/bin/bwrap", "--info-fd", str(info_fd), "--bind", root, "/"]
    words += ["--ro-bind", f"{host}/usr", "/usr", "--ro-bind", f"{host}/usr", f"{host}/usr"]
    for folder in ("usr/bin", "usr/sbin", "usr/local", "usr/share/keyrings"):
        words += ["--bind", f"{root}/{folder}", f"/{folder}"]
    words += ["--ro-bind", f"{host}/standins", f"{host}/standins"]
    if container.gpus:
        words += [
            "--ro-bind",
            f"{host}/hardware",
            f"{host}/hardware",
            "--ro-bind",
            str(MARKS),
            f"{host}/nvidia",
        ]
    words += ["--proc", "/proc", "--dev", "/dev", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    words += ["--hostname", container.hostname or container.id[:12], "--as-pid-1", "--clearenv"]
    if container.network == "none":
        words += ["--unshare-net"]
    for source, target, read_only in container.binds:
        words += ["--ro-bind" if read_only else "--bind", source, target]
    words += ["--cap-drop", "ALL"]
    for capability in _CAPABILITIES:
        words += ["--cap-add", f"CAP_{capability}"]
    for name, value in container.env.items():
        words += ["--setenv", name, value]
    return [*words, "--chdir", container.workdir, *as_user(container.user), *container.command]


def as_user(user: str) -> list[str]:
    """Words before a command that run it as `UID[:GID]`; nothing for root."""
    uid, _, gid = user.partition(":")
    uid = {"root": "0", "nobody": "65534"}.get(uid, uid)
    if uid in {"", "0"}:
        return []
    return ["setpriv", "--reuid", uid, "--regid", gid or uid, "--clear-groups"]


def start(container: Container, *, stdin: int, output: int | None) -> "subprocess.Popen[bytes]":
    """Start it and note its process 1."""
    reader, writer = os.pipe()
    process = subprocess.Popen(
        sandbox(container, writer), stdin=stdin, stdout=output, stderr=output, pass_fds=(writer,)
    )
    os.close(writer)
    with os.fdopen(reader) as info:
        told = info.read()
    if told:
        container.pid = int(json.loads(told)["child-pid"])
        container.pid_namespace = namespace_of(container.pid)
    container.save()
    return process


def enter(
    container: Container, command: Sequence[str], env: Mapping[str, str], user: str, workdir: str
) -> list[str]:
    """Command line that runs a program in a running container."""
    variables = container.env | dict(env)
    return [
        f"{rootfs.HOST}/usr/bin/nsenter",
        *("--target", str(container.pid), "--mount", "--uts", "--ipc", "--pid", "--root", "--wd"),
        *(
            "/usr/bin/env",
            "-i",
            "-C",
            workdir or container.workdir,
            *(f"{name}={value}" for name, value in variables.items()),
        ),
        *as_user(user or container.user),
        *command,
    ]
