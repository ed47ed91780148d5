"""Builds the root folder of a guest or a container: its own /etc, /var, …, links to the host's programs."""

import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

HOST = "/.host"
"""Where a guest sees what the host lends it, read-only: `usr`, `standins`, `cloud-init`, `hardware`."""

_DIRECTORIES = (
    "etc/apt/sources.list.d",
    "etc/apt/keyrings",
    "etc/systemd/system",
    "home",
    "mnt",
    "opt",
    "root",
    "run",
    "srv",
    "sys",
    "proc",
    "dev",
    "tmp",
    "usr/bin",
    "usr/sbin",
    "usr/local/bin",
    "usr/local/sbin",
    "usr/local/lib/systemd/system",
    "usr/share/keyrings",
    "var/cache",
    "var/lib",
    "var/log",
    "var/tmp",
    ".host/usr",
    ".host/cloud-init",
    ".host/hardware",
    ".host/standins/localcloud/standins",
)
_HIDDEN = re.compile(
    r"docker.*|containerd.*|runc|podman|jq|git-lfs|apt.*|add-apt.*|dpkg.*|deb-systemd.*|debconf.*|gpg|nvidia.*|"
    r"gitlab-.*|systemctl|systemd.*|journalctl|loginctl|hostnamectl|timedatectl|ip6?tables.*|xtables.*|nft|modprobe|"
    r"insmod|rmmod|sysctl|curl|wget|reboot|poweroff|halt|shutdown|snap|lsb_release|cloud-.*|unshare|chroot|"
    r"gcloud.*|gsutil|bq|terraform|pulumi|su|sudo"
)
_HOST_FILES = ("etc/ld.so.cache", "etc/ld.so.conf", "etc/mime.types", "etc/services", "etc/protocols")
_PASSWD = """root:x:0:0:root:/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
"""
_GROUP = "root:x:0:\ndaemon:x:1:\nnogroup:x:65534:\n"


@dataclass(frozen=True, slots=True)
class Account:
    """A user of the guest with a home and a group of its own."""

    name: str
    uid: int
    home: str


def build(root: Path, usr: Path, etc: Path, hostname: str, accounts: Iterable[Account] = ()) -> None:
    """Make the folder tree; programs link to `/.host/usr`, whose content is listed from `usr`."""
    for name in _DIRECTORIES:
        (root / name).mkdir(parents=True, exist_ok=True)
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        if (usr / name).is_dir() and not (root / name).is_symlink():
            (root / name).symlink_to(f"usr/{name}")
    for name in ("tmp", "var/tmp"):
        (root / name).chmod(0o1777)
    (root / "root").chmod(0o700)
    for folder in ("bin", "sbin"):
        _link_programs(root / "usr" / folder, usr / folder)
    _copy_host_files(root, etc)
    _write_etc(root, hostname, tuple(accounts))


def _link_programs(target: Path, listing: Path) -> None:
    for entry in os.scandir(listing):
        link = target / entry.name
        if not _HIDDEN.fullmatch(entry.name) and not link.is_symlink():
            link.symlink_to(f"{HOST}/usr/{listing.name}/{entry.name}")


def _copy_host_files(root: Path, etc: Path) -> None:
    if (etc / "alternatives").is_dir():
        shutil.copytree(etc / "alternatives", root / "etc/alternatives", symlinks=True, dirs_exist_ok=True)
    for name in _HOST_FILES:
        source = etc / Path(name).relative_to("etc")
        if source.is_file():
            shutil.copyfile(source, root / name)


def _write_etc(root: Path, hostname: str, accounts: tuple[Account, ...]) -> None:
    etc = root / "etc"
    users = "".join(f"{a.name}:x:{a.uid}:{a.uid}::{a.home}:/bin/bash\n" for a in accounts)
    groups = "".join(f"{a.name}:x:{a.uid}:\n" for a in accounts)
    texts = {
        "hostname": f"{hostname}\n",
        "hosts": f"127.0.0.1 localhost\n127.0.1.1 {hostname}\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\n",
        "resolv.conf": "",
        "passwd": _PASSWD + users,
        "group": _GROUP + groups,
        "os-release": 'PRETTY_NAME="Ubuntu 22.04.5 LTS"\nNAME="Ubuntu"\nVERSION_ID="22.04"\n'
        'VERSION="22.04.5 LTS (Jammy Jellyfish)"\nVERSION_CODENAME=jammy\nID=ubuntu\nID_LIKE=debian\n'
        "UBUNTU_CODENAME=jammy\n",
    }
    for name, text in texts.items():
        (etc / name).write_text(text)
    for account in accounts:
        home = root / account.home.lstrip("/")
        home.mkdir(parents=True, exist_ok=True)
        os.chown(home, account.uid, account.uid)


def install(root: Path, program: str, folder: str = "usr/bin") -> None:
    """Put a stand-in in place of a program."""
    path = root / folder / program
    path.unlink(missing_ok=True)
    path.write_text(
        "#!/bin/sh\n"
        f'exec {HOST}/usr/bin/python3 -IS {HOST}/standins/localcloud/standins/__main__.py {program} "$@"\n'
    )
    path.chmod(0o755)
