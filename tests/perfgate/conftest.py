"""The gate's command line as its users run it: a process of its own, files in a folder of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

Runs = Sequence[Mapping[str, object]]


@dataclass(frozen=True)
class Result:
    """How a call ended."""

    code: int
    output: str
    """Standard output and error, white space folded."""


@dataclass(frozen=True)
class Gate:
    """Calls `shadow-perfgate` in one folder."""

    folder: Path

    def __call__(self, *arguments: str | Path, **environment: str) -> Result:
        """Run the command line and return how it ended."""
        # The lock that keeps two measurements apart lies in the folder for temporary files.
        scratch = self.folder.parent / "scratch"
        scratch.mkdir(exist_ok=True)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("CI_", "GITHUB_", "GITLAB_"))}
        ended = subprocess.run(
            [sys.executable, "-m", "shadow_perfgate", *map(str, arguments)],
            cwd=self.folder,
            env={**kept, "COLUMNS": "200", "TMPDIR": str(scratch), **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        text = ended.stdout + ended.stderr
        assert "Traceback" not in text, text
        return Result(ended.returncode, " ".join(text.split()))

    def write(self, name: str, runs: Runs, **more: object) -> Path:
        """Write a session file by hand, as a user's own tool would."""
        session = {"schema_version": 1, "workload": {"name": "chat128"}, "runs": runs, **more}
        return self.text(name, json.dumps(session))

    def text(self, name: str, text: str) -> Path:
        """Write any text into a file of the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    folder = tmp_path / "work"
    folder.mkdir()
    return Gate(folder)


@pytest.fixture
def runs() -> Callable[..., list[dict[str, object]]]:
    def make(metric: str, values: Sequence[float | None]) -> list[dict[str, object]]:
        return [{"metrics": {metric: value}} for value in values]

    return make
