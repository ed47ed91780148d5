"""The real cloud-init for the guests: Debian packages, unpacked into the cache, never installed here."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from localcloud.paths import cache_home, content_hash
from localcloud.standins import rootfs

_PACKAGES = (
    "cloud-init",
    "python3-attr",
    "python3-chardet",
    "python3-certifi",
    "python3-configobj",
    "python3-idna",
    "python3-jinja2",
    "python3-json-pointer",
    "python3-jsonpatch",
    "python3-jsonschema",
    "python3-markupsafe",
    "python3-netifaces",
    "python3-oauthlib",
    "python3-pyrsistent",
    "python3-requests",
    "python3-serial",
    "python3-six",
    "python3-urllib3",
    "python3-yaml",
)
SYSTEM_PYTHON = "/usr/bin/python3"
"""The interpreter that the unpacked packages were made for."""
MODULES = "usr/lib/python3/dist-packages"
"""Where its Python code lies below the unpacked folder."""

_CONFIG = """# Modules that make sense in a played guest; users, disks, network and keys are the host's.
datasource_list: [OpenStack]
datasource:
  OpenStack:
    metadata_urls: ["{url}"]
    max_wait: 20
    timeout: 5
    retries: 3
    apply_network_config: false
network: {{config: disabled}}
preserve_hostname: true
apt: {{preserve_sources_list: true}}
output: {{all: "| tee -a /var/log/cloud-init-output.log"}}
cloud_init_modules: [bootcmd, write-files]
cloud_config_modules: [apt-configure, runcmd]
cloud_final_modules:
  - package-update-upgrade-install
  - write-files-deferred
  - scripts-vendor
  - scripts-per-once
  - scripts-per-boot
  - scripts-per-instance
  - scripts-user
  - phone-home
  - final-message
  - power-state-change
system_info:
  distro: ubuntu
  paths: {{cloud_dir: /var/lib/cloud/, templates_dir: /etc/cloud/templates/}}
"""


class CloudInitError(RuntimeError):
    """cloud-init could not be fetched; the text says why and what to do."""


def fetch() -> Path:
    """Folder with cloud-init and the Python packages it needs; the first call downloads them (2 MB).

    Raises:
        CloudInitError: this isn't a Debian or Ubuntu machine, or its package archive can't be reached.
    """
    release = Path("/etc/os-release")
    target = cache_home() / f"cloud-init-{content_hash(release, 'compiled', *_PACKAGES)}"
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            publish(_unpack(Path(scratch)), target)
    return target


def _unpack(scratch: Path) -> Path:
    debs, tree = scratch / "debs", scratch / "tree"
    debs.mkdir()
    try:
        _run(["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", *_PACKAGES], debs)
        for deb in sorted(debs.glob("*.deb")):
            _run(["dpkg-deb", "--extract", str(deb), str(tree)], debs)
        _run([SYSTEM_PYTHON, "-m", "compileall", "-q", str(tree / MODULES)], debs)
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", "") or error
        raise CloudInitError(
            f"`apt-get download cloud-init` failed: {said}\n"
            "Run `apt-get update` and try again; a Debian or Ubuntu package archive must be reachable."
        ) from error
    return tree


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)


def publish(tree: Path, target: Path) -> None:
    """Put a finished folder in its place, unless another process was faster."""
    try:
        tree.rename(target)
    except OSError:
        if not target.is_dir():
            raise


def put_into(root: Path, metadata_url: str, unpacked: Path) -> None:
    """Give a guest its cloud-init: program, templates and the address of its metadata service."""
    rootfs.install(root, "cloud-init")
    etc = root / "etc/cloud"
    shutil.copytree(unpacked / "etc/cloud", etc, dirs_exist_ok=True)
    (etc / "cloud.cfg").write_text(_CONFIG.format(url=metadata_url))


def environment(unpacked: Path) -> dict[str, str]:
    """Environment in which the unpacked cloud-init runs on this machine itself (to check a document)."""
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(unpacked / MODULES), "LANG": "C.UTF-8"}
