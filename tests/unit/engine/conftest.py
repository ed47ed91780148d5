"""A machine to try the engine's set-up on: an own cache, a Go that only pretends, and no network."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

NOWHERE = "http://127.0.0.1:9"  # the discard port: connections are refused

FAKE_GO = r"""#!/bin/bash
# Pretends to be Go: notes each call, and makes the files that a build would make.
echo "$(basename "$PWD") $*" >>"$FAKE_GO_LOG"
case $1 in
env) case $2 in GOVERSION) echo "${FAKE_GO_VERSION:-go1.26.8}" ;; *) echo "$FAKE_GO_HOME" ;; esac; exit ;;
list) echo "$FAKE_GO_HOME/sdk"; exit ;;
esac
if [ "$(basename "$PWD")" = "${FAKE_GO_BLOCKS:-}" ]; then
    exec 3>"$FAKE_GO_REACHED"; echo reached >&3; read -r _ <"$FAKE_GO_RELEASE"
fi
if [ "$(basename "$PWD")" = "${FAKE_GO_FAILS:-}" ]; then echo "$FAKE_GO_MESSAGE" >&2; exit 1; fi
echo "go: downloading example.org/module v1.0.0" >&2
while [ $# -gt 0 ]; do
    case $1 in
    -o) out=$2; shift ;;
    ./schema) printf '#!/bin/sh\nmkdir -p "$1/openstack" "$1/github"\n' >"$out"
        echo 'echo "{}" | tee "$1/openstack/schema.json" >"$1/github/schema.json"' >>"$out"; chmod +x "$out" ;;
    ./* | *.*/*) case $2 in -*) ;; esac; [ -d "$out" ] && echo "built from $1" >"$out/$(basename "$1")"; echo "$1" >&2 ;;
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
        return {"PATH": f"{self.home}/bin:/usr/bin:/bin", "PYTHONPATH": str(ROOT), **self.variables, **(extra or {})}

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


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Give a machine with a good Go, where nothing can be downloaded."""
    (tmp_path / "bin").mkdir()
    go = tmp_path / "bin" / "go"
    go.write_text(FAKE_GO, encoding="utf-8")
    go.chmod(0o755)
    executor = tmp_path / "go" / "sdk" / "python" / "cmd" / "pulumi-language-python-exec"
    executor.parent.mkdir(parents=True)
    executor.write_text("#!/usr/bin/env python\n", encoding="utf-8")
    return Machine(
        tmp_path,
        {
            "HOME": str(tmp_path),
            "SHADOW_CACHE_HOME": str(tmp_path / "cache"),
            "SHADOW_ENGINE_SITE": NOWHERE,
            "GOPROXY": NOWHERE,
            "FAKE_GO_LOG": str(tmp_path / "go.log"),
            "FAKE_GO_HOME": str(tmp_path / "go"),
            "FAKE_GO_REACHED": str(_fifo(tmp_path / "reached")),
            "FAKE_GO_RELEASE": str(_fifo(tmp_path / "release")),
        },
    )


def _fifo(path: Path) -> Path:
    os.mkfifo(path)
    return path


@pytest.fixture
def engine_shell() -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Run a bash script with the real engine's environment; only for tests marked `engine`."""
    exports = subprocess.run(
        [ROOT / "scripts" / "engine", "--env"], capture_output=True, text=True, check=True
    ).stdout

    def run(script: str, folder: Path, **extra: str) -> "subprocess.CompletedProcess[str]":
        settings = {
            "PULUMI_BACKEND_URL": f"file://{folder}",
            "PULUMI_CONFIG_PASSPHRASE": "test",
            "PULUMI_AUTOMATION_API_SKIP_VERSION_CHECK": "true",
            "NO_COLOR": "1",
            **extra,
        }
        assignments = "\n".join(f"export {name}={shlex.quote(value)}" for name, value in settings.items())
        return subprocess.run(
            ["/bin/bash", "-c", f"{exports}\n{assignments}\n{script}"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    return run
