"""`blkid`, `mkfs.ext4` and `mount` of attached volumes, each of which is a folder that outlives the guest."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from localcloud.standins.rootfs import HOST

_MARK = ".formatted-ext4"


def main(program: str, arguments: Sequence[str]) -> int:
    """Run one command on a device or, for `mount` without one, the host's own program."""
    words = [word for word in arguments if word.startswith("/")]
    volume = Path(words[0]).resolve() if words and Path(words[0]).exists() else None
    if volume is None or volume.parent != Path("/.volumes"):
        if program == "mount":
            return subprocess.run([f"{HOST}/usr/bin/mount", *arguments], check=False).returncode
        sys.stderr.write(f"{program}: {words[0] if words else 'no device'}: No such device\n")
        return 2 if program == "blkid" else 1
    if program == "blkid":
        return _show(words[0], volume)
    if program == "mkfs.ext4":
        (volume / _MARK).touch()
        return 0
    return _mount(volume, words)


def _show(device: str, volume: Path) -> int:
    if not (volume / _MARK).exists():
        return 2
    sys.stdout.write(f'{device}: LABEL="shadow-state" TYPE="ext4"\n')
    return 0


def _mount(volume: Path, words: Sequence[str]) -> int:
    if not (volume / _MARK).exists():
        sys.stderr.write(f"mount: {words[-1]}: wrong fs type, bad superblock on {words[0]}.\n")
        return 32
    command = [f"{HOST}/usr/bin/mount", "--bind", str(volume), words[-1]]
    return subprocess.run(command, check=False).returncode
