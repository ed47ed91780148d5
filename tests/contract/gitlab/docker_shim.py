"""A `docker` for tests of the runner: no containers, scripts run on this machine, every call is written down.

Used as `docker_shim.py FOLDER COMMAND…`. Images whose name begins with `local/` are there already,
`missing/` ones can't be pulled, and `broken/` ones the daemon refuses to run.
"""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path


def main(folder: Path, words: list[str]) -> int:
    with (folder / "calls").open("a") as log:
        log.write(json.dumps(words) + "\n")
    if words[0] == "run":
        return run(folder, words)
    if words[:2] == ["image", "inspect"]:
        return 0 if words[2].startswith("local/") else 1
    if words[0] == "pull" and words[1].startswith("missing/"):
        sys.stderr.write("Error response from daemon: manifest unknown\n")
        return 1
    pid = folder / f"{words[-1]}.pid"
    if words[0] == "kill" and pid.exists():
        with suppress(ProcessLookupError):
            os.killpg(int(pid.read_text()), signal.SIGKILL)
    return 0


def run(folder: Path, words: list[str]) -> int:
    if words[-2].startswith("broken/"):
        sys.stderr.write('docker: Error response from daemon: could not select device driver "".\n')
        return 125
    if "-d" in words:
        return 0
    name = words[words.index("--name") + 1]
    (folder / f"{name}.pid").write_text(str(os.getpid()))
    builds = next(word for word in words if word.endswith(":/builds")).removesuffix(":/builds")
    script = sys.stdin.read().replace("/builds/", f"{builds}/")
    return subprocess.run(["sh", "-c", script], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
