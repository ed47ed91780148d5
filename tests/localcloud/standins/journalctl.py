"""`journalctl`: what the guest's services wrote."""

import subprocess
import sys
from collections.abc import Sequence

from localcloud.standins.service import JOURNAL
from localcloud.standins.units import full_name


def main(_program: str, arguments: Sequence[str]) -> int:
    """Print the units' output, `-n` lines of it, and follow with `-f`."""
    words = list(arguments)
    names = [words[i + 1] for i, w in enumerate(words[:-1]) if w in {"-u", "--unit"}]
    names += [w.partition("=")[2] for w in words if w.startswith("--unit=")]
    count = next((words[i + 1] for i, w in enumerate(words[:-1]) if w in {"-n", "--lines"}), "")
    files = [JOURNAL / f"{full_name(name)}.log" for name in names] or sorted(JOURNAL.glob("*.log"))
    files = [path for path in files if path.exists()]
    if not files:
        sys.stdout.write("-- No entries --\n")
        return 0
    if "-f" in words or "--follow" in words:
        follow = ["tail", "-n", count or "10", "-F", *map(str, files)]
        return subprocess.run(follow, check=False).returncode
    lines = f"-n{count}" if count.isdigit() else "-n+1"
    return subprocess.run(["tail", "-q", lines, *map(str, files)], check=False).returncode
