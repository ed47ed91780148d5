"""Tells that a change moves what measures it: a faster figure may then be another measurement."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from posixpath import normpath
from typing import cast

from shadow_perfgate.baseline.git import git
from shadow_perfgate.config import Config
from shadow_perfgate.errors import StoreError


def changed(config: Config, base: str) -> list[str]:
    """Return a notice for each workload's own file that is not as in `base`."""
    files = {str(table.get("name", "")): list(_files(table)) for table in config.workloads}
    moved = _moved(config.path.resolve().parent, base, {file for named in files.values() for file in named})
    return [
        f"{name}: {file} differs from the merge-base's: what measures has changed too, and may have "
        "moved the figures"
        for name, named in files.items()
        for file in dict.fromkeys(named)
        if file in moved
    ]


def _files(table: Mapping[str, object]) -> Iterator[str]:
    """Yield what may be files of the benchmark: words of its commands, and Python files by their path."""
    options = table.get(str(table.get("engine", "")))
    if not isinstance(options, dict):
        return
    for key, value in cast("dict[str, object]", options).items():
        if key in {"argv", "server"} and isinstance(value, list):
            yield from (normpath(str(word)) for word in cast("list[object]", value))
        elif key in {"call", "load"} and str(value).rpartition(":")[0].endswith(".py"):
            yield normpath(str(value).rpartition(":")[0])


def _moved(folder: Path, base: str, files: set[str]) -> set[str]:
    places = [f":(literal){file}" for file in sorted(files) if not file.startswith(("/", "../"))]
    if not (base and places):
        return set()
    try:
        listed = git(folder, "diff", "--name-only", "--relative", "-z", base, "--", *places)
    except StoreError:
        # Without git or the base's commit there are no pairs either, which is said.
        return set()
    return set(listed.decode(errors="replace").split("\0"))
