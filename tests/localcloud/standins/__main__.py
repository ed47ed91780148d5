"""Run one stand-in by its program name: `python3 -I __main__.py NAME [ARGUMENT…]`."""

import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

MODULES = {
    "init": "init",
    "cloud-init": "cloud_init",
    "systemctl": "systemctl",
    "journalctl": "journalctl",
    "systemd-run": "systemctl",
    "hostnamectl": "machine",
    "modprobe": "machine",
    "sysctl": "machine",
    "lsb_release": "machine",
    "systemd-detect-virt": "machine",
    "shutdown": "machine",
    "poweroff": "machine",
    "halt": "machine",
    "reboot": "machine",
    "apt": "apt",
    "apt-get": "apt",
    "apt-mark": "apt",
    "apt-cache": "apt",
    "dpkg": "dpkg",
    "dpkg-query": "dpkg",
    "apt-key": "gpg",
    "gpg": "gpg",
    "curl": "curl",
    "wget": "curl",
    "iptables": "iptables",
    "ip6tables": "iptables",
    "iptables-save": "iptables",
    "nft": "iptables",
    "nvidia-smi": "nvidia_smi",
    "nvidia-ctk": "nvidia_ctk",
    "blkid": "disks",
    "blockdev": "disks",
    "dd": "disks",
    "mkfs.ext4": "disks",
    "mount": "disks",
    "docker": "docker",
    "dockerd": "dockerd",
    "containerd": "dockerd",
}
"""Program name → module with `main(program, arguments)`."""


def main() -> int:
    """Hand over to the stand-in's own `main`; 127 for a name that has none."""
    program, *arguments = sys.argv[1:]
    module = MODULES.get(program)
    if module is None:
        sys.stderr.write(f"{program}: command not found\n")
        return 127
    code: int = importlib.import_module(f"localcloud.standins.{module}").main(program, arguments)
    return code


if __name__ == "__main__":
    sys.exit(main())
