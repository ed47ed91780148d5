"""The cache's pieces: names from content, folders that appear whole, links that follow, room on the disk."""

import io
import shutil
from pathlib import Path

import pytest

from engine import cache, progress
from engine.errors import EngineError


def _tree(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name.replace("__dot__", ".")).write_text(text, encoding="utf-8")
    return folder


def test_the_digest_follows_texts_names_content_and_modes(tmp_path: Path) -> None:
    tree = _tree(tmp_path / "a", main__dot__go="package main")
    seen = {cache.digest(["1"], [tree])}
    seen.add(cache.digest(["2"], [tree]))
    (tree / "main.go").chmod(0o755)
    seen.add(cache.digest(["1"], [tree]))
    (tree / "main.go").write_text("package other", encoding="utf-8")
    seen.add(cache.digest(["1"], [tree]))
    (tree / "main.go").rename(tree / "other.go")
    seen.add(cache.digest(["1"], [tree]))
    assert len(seen) == 5


def test_the_digest_ignores_tests_compiled_python_and_the_folder_itself(tmp_path: Path) -> None:
    first = _tree(tmp_path / "a", main__dot__go="package main")
    second = _tree(tmp_path / "b", main__dot__go="package main", main_test__dot__go="package main")
    _tree(second / "__pycache__", x__dot__pyc="compiled")
    assert cache.digest([], [first]) == cache.digest([], [second])


def test_a_folder_appears_only_when_its_block_ends_well(tmp_path: Path) -> None:
    target = tmp_path / "target"

    def fill() -> None:
        with cache.appearing(target) as folder:
            (folder / "file").write_text("half", encoding="utf-8")
            assert not target.exists()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fill()
    assert list(tmp_path.iterdir()) == []
    with cache.appearing(target) as folder:
        (folder / "file").write_text("whole", encoding="utf-8")
    assert (target / "file").read_text(encoding="utf-8") == "whole"


@pytest.mark.parametrize("links", [True, False])
def test_a_mirror_follows_its_source(tmp_path: Path, links: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not links:

        def refuse(*_: object) -> None:
            raise OSError(18, "Invalid cross-device link")

        monkeypatch.setattr(cache.os, "link", refuse)
    source = _tree(tmp_path / "source", tool="one", origin__dot__txt="skip")
    target = tmp_path / "target"
    cache.mirror(source, target, without="origin.txt")
    (source / "tool").unlink()
    (source / "tool").write_text("two", encoding="utf-8")
    cache.mirror(source, target, without="origin.txt")
    assert {file.name: file.read_text(encoding="utf-8") for file in target.iterdir()} == {"tool": "two"}


def test_a_full_disk_is_said_before_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil._ntuple_diskusage(100 << 20, 58 << 20, 42 << 20)
    monkeypatch.setattr(cache.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(
        EngineError, match=r"42 MiB free, but a first build needs 6000 MiB\n  what to do: free some"
    ):
        cache.require_space(tmp_path / "not" / "yet", 6000, "a first build")


def test_the_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.delenv("SHADOW_CACHE_HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache.cache_home() == Path("/home/someone/.cache/shadow-gpu-runners")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache.cache_home() == Path("/xdg/shadow-gpu-runners")
    monkeypatch.setenv("SHADOW_CACHE_HOME", "~/chosen")
    assert cache.cache_home() == Path("/home/someone/chosen")


def test_a_log_gets_plain_lines_that_count_parts() -> None:
    stream = io.StringIO()
    with progress.Progress(3, stream) as shown:
        shown.started("cli", "Pulumi CLI")
        shown.finished("cli", "Pulumi CLI: built", count=2)
    assert stream.getvalue() == "engine: [0/3 0:00] Pulumi CLI …\nengine: [2/3 0:00] Pulumi CLI: built\n"
