"""A machine to try the engine's set-up on: an own cache, a Go that only pretends, no network."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
NOWHERE = "http://127.0.0.1:9"  # the discard port: connections are refused

FAKE_GO = r"""#!/bin/bash
# Pretends to be Go: notes each call, and makes the files that a build would make.
echo "$(basename "$PWD") $*" >>"$FAKE_GO_LOG"
case $1 in
env)
    if [ "$2" = GOVERSION ]; then echo "${FAKE_GO_VERSION:-go1.26.8}"; else echo "$FAKE_GO_HOME"; fi
    exit ;;
list) echo "$FAKE_GO_HOME/sdk"; exit ;;
esac
if [ "$(basename "$PWD")" = "${FAKE_GO_BLOCKS:-}" ]; then
    exec 3>"$FAKE_GO_REACHED"; echo reached >&3; read -r _ <"$FAKE_GO_RELEASE"
fi
if [ "$(basename "$PWD")" = "${FAKE_GO_FAILS:-}" ]; then
    echo "$FAKE_GO_MESSAGE" >&2
    exit 1
fi
echo "go: downloading example.org/module v1.0.0" >&2
while [ $# -gt 0 ]; do
    case $1 in
    -o) out=$2; shift ;;
    ./* | *.*/*)
        [ -d "$out" ] && echo "built from $1" >"$out/$(basename "$1")"
        echo "$1" >&2 ;;
    esac
    shift
done
"""


@dataclass(slots=True)
class Machine:
    """Runs the set-up in a world of its own."""

    home: Path
    variables: dict[str, str] = field(default_factory=dict)

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        return {
            "PATH": f"{self.home}/bin:/usr/bin:/bin",
            "PYTHONPATH": str(ROOT),
            "PIP_NO_INDEX": "1",
            **self.variables,
            **(extra or {}),
        }

    def start(self, *arguments: str, extra: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
        command = [sys.executable, "-P", "-m", "engine.build", *arguments]
        return subprocess.Popen(
            command, env=self.environment(extra), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, *arguments: str, **extra: str) -> "subprocess.CompletedProcess[str]":
        with self.start(*arguments, extra=extra) as process:
            output, errors = process.communicate(timeout=60)
        return subprocess.CompletedProcess(process.args, process.returncode, output, errors)

    def shell(self, script: str) -> str:
        done = subprocess.run(
            ["/bin/bash", "-c", script], env=self.environment(), capture_output=True, text=True, check=True
        )
        return done.stdout

    @property
    def cache(self) -> Path:
        return self.home / "cache"

    def go_builds(self) -> list[str]:
        """Return the `go build` calls so far: module folder and arguments."""
        log = Path(self.variables["FAKE_GO_LOG"])
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return [line for line in lines if line.split()[1] == "build"]
