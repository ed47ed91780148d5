"""One guest's folder below `state_home()/guests`: what is kept of it and how it is booted and killed."""

import json
import os
import re
import shutil
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from localcloud.guests import cloud_init, gpus, programs, sandbox
from localcloud.guests.metadata import DEFAULT_NOTICE_POINTER, Notice
from localcloud.guests.servers import Server
from localcloud.paths import state_home
from localcloud.standins import rootfs
from localcloud.standins.__main__ import MODULES
from localcloud.world import write_private

_IN_SBIN = frozenset(
    {"iptables", "ip6tables", "iptables-save", "nft", "modprobe", "sysctl", "blkid", "blockdev", "mkfs.ext4"}
)
_INSTALLED_LATER = frozenset({"docker", "dockerd", "containerd", "nvidia-ctk", "init"})
_JOB_USER = rootfs.Account("ubuntu", 1000, "/home/ubuntu")
_HOSTNAME = re.compile(r"[^A-Za-z0-9-]+")


def guests_home() -> Path:
    """Folder of all guests."""
    return state_home() / "guests"


@dataclass(frozen=True, slots=True)
class Record:
    """What the agent must remember of a guest when it is killed and started again."""

    name: str = ""
    port: int | None = None
    boots: int = 0
    action: str = ""
    """Request id of the newest reboot, start or rebuild that the guest has followed."""
    updated: str = ""
    booted_at: float = 0


class Guest:
    """A guest by its server's id; every answer comes from its files, so that any process may ask."""

    def __init__(self, server_id: str, home: Path | None = None) -> None:
        self.id = server_id
        self.folder = (home or guests_home()) / server_id
        self.root = self.folder / "root"
        self.console = self.folder / "console.log"
        self.status = self.folder / "status.json"
        self.hardware = self.folder / "hardware"

    def record(self) -> Record:
        """What is remembered of it; an empty record for a new one."""
        stored = read_json(self.folder / "guest.json")
        known = {item.name for item in fields(Record)}
        return Record(**{name: value for name, value in stored.items() if name in known})

    def remember(self, **changes: Any) -> Record:
        """Change the record."""
        record = replace(self.record(), **changes)
        write_private(self.folder / "guest.json", json.dumps(asdict(record)))
        return record

    def process(self) -> sandbox.Process | None:
        """Its process 1 where it runs."""
        found = sandbox.process(self.status)
        return found if found and found.alive() else None

    def power_wish(self) -> str:
        """`poweroff` or `reboot` where the guest ended by its own wish."""
        try:
            return (self.root / "run/power").read_text().strip()
        except FileNotFoundError:
            return ""

    def notice(self) -> Notice | None:
        """The reclaim that was announced to it."""
        stored = read_json(self.folder / "reclaim.json")
        at = stored.get("at") or stored.get("time")
        if not at:
            return None
        return Notice(str(at), str(stored.get("pointer") or DEFAULT_NOTICE_POINTER))

    def announce(self, at: datetime, pointer: str = DEFAULT_NOTICE_POINTER) -> None:
        """Announce that the spot instance ends at a time."""
        self._require()
        text = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        write_private(self.folder / "reclaim.json", json.dumps({"at": text, "pointer": pointer}))

    def set_fault(self, name: str) -> None:
        """Make its GPUs show a fault; an empty name repairs them.

        Raises:
            ValueError: there is no such fault.
            FileNotFoundError: there is no such guest.
        """
        self._require()
        write_private(self.hardware / "faults.json", json.dumps({"gpu": gpus.check_fault(name)}))

    def _require(self) -> None:
        if not self.folder.is_dir():
            raise FileNotFoundError(
                f"No guest {self.id}: its server must be ACTIVE; see `python -m localcloud.guests ls`."
            )

    def prepare(self, server: Server, metadata_url: str, unpacked: Path) -> None:
        """Make the root of a new guest, and what every boot begins with."""
        if not (self.root / "etc").is_dir():
            self._build(server, metadata_url, unpacked)
        (self.root / "etc/cloud/cloud.cfg.d").mkdir(parents=True, exist_ok=True)
        cloud_init.put_into(self.root, metadata_url, unpacked)
        for name in ("run", "tmp"):
            shutil.rmtree(self.root / name, ignore_errors=True)
            (self.root / name).mkdir()
        (self.root / "tmp").chmod(0o1777)
        self.hardware.mkdir(exist_ok=True)
        (self.hardware / "gpu.json").write_text(json.dumps(gpus.of_flavor(server.flavor)))
        if fault := server.metadata.get("sim.gpu_fault"):
            (self.hardware / "faults.json").write_text(json.dumps({"gpu": fault}))
        link = self.folder / "faults.json"
        if not link.is_symlink():
            link.symlink_to("hardware/faults.json")

    def _build(self, server: Server, metadata_url: str, unpacked: Path) -> None:
        rootfs.build(self.root, Path("/usr"), Path("/etc"), hostname(server.name), [_JOB_USER])
        for name in MODULES.keys() - _INSTALLED_LATER:
            rootfs.install(self.root, name, "usr/sbin" if name in _IN_SBIN else "usr/bin")
        runner = programs.SOURCE / "actions-runner"
        if runner.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(runner, self.root / "opt/actions-runner", dirs_exist_ok=True, ignore=ignored)
        certificates = Path("/etc/ssl/certs/ca-certificates.crt")
        if certificates.exists():
            (self.root / "etc/ssl/certs").mkdir(parents=True, exist_ok=True)
            shutil.copyfile(certificates, self.root / "etc/ssl/certs/ca-certificates.crt")
        cloud_init.put_into(self.root, metadata_url, unpacked)

    def boot(self, server: Server, metadata_url: str, unpacked: Path) -> None:
        """Start it; whatever the status file said of an earlier boot is over."""
        self.prepare(server, metadata_url, unpacked)
        volumes = tuple(self._volume(volume_id) for volume_id in server.volumes)
        mounts = sandbox.Mounts(self.root, self.hardware, programs.compiled(), unpacked, volumes)
        environment = {"SHADOW_METADATA_URL": metadata_url, "product_name": "OpenStack Nova"}
        sandbox.boot(mounts, hostname(server.name), environment, self.console, self.status)

    def _volume(self, volume_id: str) -> Path:
        """The folder that stands for a volume; it stays when the guest goes."""
        folder = self.folder.parent.parent / "volumes" / volume_id
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def kill(self) -> None:
        """End every process of it at once."""
        process = self.process()
        if process:
            process.kill()

    def remove(self) -> None:
        """Kill it and delete its folder."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def wipe(self) -> None:
        """Delete its disk, as a rebuild does."""
        shutil.rmtree(self.root, ignore_errors=True)


def hostname(name: str) -> str:
    """Host name made of a server's name, as Nova makes it."""
    return _HOSTNAME.sub("-", name).strip("-")[:63] or "server"


def read_json(path: Path) -> dict[str, Any]:
    """A file's JSON object; empty where there is none or it isn't one."""
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return found


def all_guests(home: Path | None = None) -> list[Guest]:
    """Every guest that has a folder."""
    folder = home or guests_home()
    if not folder.is_dir():
        return []
    return [
        Guest(entry.name, folder) for entry in os.scandir(folder) if entry.is_dir() and entry.name[0] != "."
    ]
