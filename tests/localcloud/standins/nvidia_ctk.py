"""`nvidia-ctk`: writes the NVIDIA runtime into Docker's configuration."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

_DAEMON = Path("/etc/docker/daemon.json")
_RUNTIME: dict[str, object] = {"args": [], "path": "nvidia-container-runtime"}


def main(_program: str, arguments: Sequence[str]) -> int:
    """`runtime configure --runtime=docker`, `cdi generate --output=FILE`, `--version`."""
    words = [word for word in arguments if not word.startswith("-")]
    if "--version" in arguments:
        sys.stdout.write("NVIDIA Container Toolkit CLI version 1.17.0\n")
        return 0
    if words[:2] == ["runtime", "configure"]:
        return _configure(arguments)
    if words[:2] == ["cdi", "generate"]:
        target = next((Path(a.partition("=")[2]) for a in arguments if a.startswith("--output=")), None)
        if target:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("cdiVersion: 0.5.0\nkind: nvidia.com/gpu\n")
        return 0
    sys.stderr.write("No help topic for these arguments.\n")
    return 3


def _configure(arguments: Sequence[str]) -> int:
    config = json.loads(_DAEMON.read_text() if _DAEMON.exists() else "{}")
    config.setdefault("runtimes", {})["nvidia"] = _RUNTIME
    if "--set-as-default" in arguments or "--nvidia-set-as-default" in arguments:
        config["default-runtime"] = "nvidia"
    _DAEMON.parent.mkdir(parents=True, exist_ok=True)
    _DAEMON.write_text(json.dumps(config, indent=4) + "\n")
    sys.stderr.write(f'level=info msg="Wrote updated config to {_DAEMON}"\n')
    return 0
