"""The gate's command line as its users run it: a process of its own, files in a folder of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

BENCH = """
import json, pathlib, sys
counter = pathlib.Path({counter!r})
number = int(counter.read_text()) if counter.exists() else 0
counter.write_text(str(number + 1))
# Noise of +-1 %, the same for every test, in an order that pairs do not share.
noise = [0.2, -0.7, 0.4, -0.1, 0.9, -0.5, 0.1, -0.9, 0.6, -0.3, 0.0, -0.2, 0.8, -0.6, 0.3][number % 15]
speed, vram = json.loads(pathlib.Path("speed.json").read_text())
if speed < 0:
    sys.exit("out of memory")
print(json.dumps({{"itl_median": speed * (1 + noise / 100), "peak_vram_allocated": vram}}))
"""
CONFIG = """
project = "acme/llm"
[metrics.itl_median]
limit = "5%"
[metrics.peak_vram_allocated]
limit = "1%"
[store]
url = "folder:{store}"
[[workload]]
name = "decode"
engine = "command"
[workload.command]
argv = ["{python}", "-I", "-S", "bench.py"]
"""
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


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@localhost"]
    return subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


class Project:
    """A repository with a benchmark, on which commits change the speed."""

    def __init__(self, gate: Gate, tmp_path: Path) -> None:
        self.gate = gate
        self.folder = gate.folder
        self.folder.mkdir(exist_ok=True)
        git(self.folder, "init", "-q", "-b", "main")
        gate.text("bench.py", BENCH.format(counter=str(tmp_path / "counter")))
        gate.text("perfgate.toml", CONFIG.format(store=tmp_path / "store", python=sys.executable))
        gate.text(".gitignore", "perfgate-report/\n")
        self.commit(12.5)

    def commit(self, speed: float, vram: float = 16000.0) -> None:
        """Commit a model of that speed (ms per token) and memory (MiB)."""
        self.gate.text("speed.json", json.dumps([speed, vram]))
        git(self.folder, "add", ".")
        git(self.folder, "commit", "-q", "--allow-empty", "-m", f"{speed} ms, {vram} MiB")

    def on_main(self) -> Result:
        """Run the pipeline of main."""
        return self.gate("gate", GITLAB_CI="true", CI_COMMIT_BRANCH="main", CI_PROJECT_PATH="acme/llm")

    def on_request(self, *arguments: str, **environment: str) -> Result:
        """Run the pipeline of merge request 7."""
        return self.gate(
            "gate",
            *arguments,
            GITLAB_CI="true",
            CI_MERGE_REQUEST_IID="7",
            CI_PROJECT_PATH="acme/llm",
            **environment,
        )

    def git(self, *arguments: str) -> str:
        """Run git here and return what it says."""
        return git(self.folder, *arguments)

    def configure(self, old: str, new: str) -> None:
        """Change perfgate.toml's text; nothing is committed."""
        path = self.folder / "perfgate.toml"
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    def change(self, speed: float, vram: float = 16000.0) -> None:
        """Open a merge request with a model of that speed."""
        git(self.folder, "checkout", "-q", "-b", "feature")
        self.commit(speed, vram)


@pytest.fixture
def project(gate: Gate, tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(gate, tmp_path_factory.mktemp("state"))
