"""A change that moves what measures it is told: its figures may have moved with it."""

import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from shadow_perfgate.baseline.ancestry import Ancestry
from shadow_perfgate.baseline.folder import FolderStore
from shadow_perfgate.ci import Job
from shadow_perfgate.config import Config
from shadow_perfgate.gate.benchmark import changed
from shadow_perfgate.gate.request import Setting, gate

TABLES: list[dict[str, Any]] = [
    {"name": "w", "engine": "command", "command": {"argv": ["sh", "./run.sh", "data", "--out=x"]}},
    {
        "name": "f",
        "engine": "callable",
        "callable": {"load": "bench/load.py:model", "call": "product:answer"},
    },
    {"name": "s", "engine": "openai", "openai": {"url": "http://localhost", "server": ["sh", "serve.sh"]}},
]
FILES = ("run.sh", "bench/load.py", "serve.sh", "product.py", "data/a.txt")


def git(folder: Path, *arguments: str) -> str:
    argv = ["git", "-c", "user.name=x", "-c", "user.email=x@localhost", *arguments]
    return subprocess.run(argv, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """A configuration in a folder of a repository whose files are all committed."""
    folder = tmp_path / "ci"
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("one", encoding="utf-8")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "base")
    return Config(folder / "perfgate.toml", workloads=tuple(TABLES))


def told(config: Config, *moved: str) -> list[str]:
    folder = config.path.parent
    base = git(folder, "rev-parse", "HEAD")
    for name in moved:
        (folder / name).write_text("two", encoding="utf-8")
    return [notice.split(" differs")[0] for notice in changed(config, base)]


def test_every_file_that_measures_is_told_and_no_other(config: Config) -> None:
    assert told(config) == []
    assert told(config, "product.py", "data/a.txt") == []
    assert told(config, "run.sh") == ["w: run.sh"]
    git(config.path.parent, "commit", "-q", "-a", "-m", "more")
    (config.path.parent / "serve.sh").unlink()
    assert told(config, "bench/load.py") == ["f: bench/load.py", "s: serve.sh"]


def test_the_gate_tells_it(config: Config) -> None:
    base = git(config.path.parent, "rev-parse", "HEAD")
    (config.path.parent / "run.sh").write_text("two", encoding="utf-8")
    given = Setting(
        config=config,
        job=Job(),
        store=FolderStore(config.path.parent / "store"),
        ancestry=Ancestry(base, (base,)),
        now=datetime(2026, 11, 30, tzinfo=UTC),
        progress=lambda *_: None,
    )
    assert [notice for notice in gate({}, given).notices if "run.sh differs" in notice]


def test_where_git_knows_no_base_nothing_is_said(config: Config) -> None:
    assert changed(config, "") == []
    assert changed(config, "0" * 40) == []
