"""Fixtures of the engine's tests."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2])]

from engine_machine import FAKE_GO, NOWHERE, ROOT, Machine  # noqa: E402 - the path comes first


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
