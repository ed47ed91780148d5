"""What reads, formats and mounts attached volumes, each of which is a folder that outlives the guest."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from localcloud.standins.rootfs import HOST

_MARK = ".formatted-ext4"
_BYTES = 10 * 1024**3
_HOSTS_OWN = {"mount": "bin/mount", "dd": "bin/dd", "blockdev": "sbin/blockdev"}


def main(program: str, arguments: Sequence[str]) -> int:
    """Run one command on a volume or, for what also has other uses, the host's own program."""
    words = [word.removeprefix("if=") for word in arguments if word.startswith(("/", "if=/"))]
    volume = Path(words[0]).resolve() if words and Path(words[0]).exists() else None
    if volume is None or volume.parent != Path("/.volumes"):
        if own := _HOSTS_OWN.get(program):
            return subprocess.run([f"{HOST}/usr/{own}", *arguments], check=False).returncode
        sys.stderr.write(f"{program}: {words[0] if words else 'no device'}: No such device\n")
        return 2 if program == "blkid" else 1
    match program:
        case "blkid":
            return _show(words[0], volume)
        case "blockdev":
            sys.stdout.write(f"{_BYTES}\n")
        case "mkfs.ext4":
            (volume / _MARK).touch()
        case "mount":
            return _mount(volume, words)
        case _:
            pass  # what dd reads goes nowhere
    return 0


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
