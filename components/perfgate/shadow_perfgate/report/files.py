"""Writes every report of a decision into one folder, and the job's summary where the forge wants it."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from shadow_perfgate.baseline.history import Line
from shadow_perfgate.decide.verdict import Decision
from shadow_perfgate.model import Direction
from shadow_perfgate.report import data, gitlab, html, junit, markdown, trackers

if TYPE_CHECKING:
    from collections.abc import Callable

SUMMARY_LIMIT = 1_000_000
"""Bytes; GitHub drops a step's summary above 1 MiB."""


def write_all(
    decision: Decision, folder: Path, config: Path, history: list[Line] | None = None
) -> list[Path]:
    """Write the reports into `folder`, replacing earlier ones, and return their paths."""
    forms: dict[str, Callable[[], str]] = {
        "decision.json": lambda: data.dumps(decision),
        "report.md": lambda: markdown.render(decision, limit=SUMMARY_LIMIT),
        "report.html": lambda: html.render(decision, history or []),
        "junit.xml": lambda: junit.render(decision),
        "metrics.txt": lambda: gitlab.metrics(decision),
        "codequality.json": lambda: gitlab.code_quality(decision, config),
        "benchmark-smaller.json": lambda: trackers.github_action_benchmark(decision, Direction.LOWER),
        "benchmark-bigger.json": lambda: trackers.github_action_benchmark(decision, Direction.HIGHER),
        "bencher.json": lambda: trackers.bencher(decision),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, render in forms.items():
        _replace(folder / name, render())
    return [folder / name for name in forms]


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all: what a full disk cuts short would be read as another report."""
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        # A write that fails for want of space does not say where.
        error.filename = str(path)
        raise
    finally:
        part.unlink(missing_ok=True)


def job_summary(decision: Decision) -> str:
    """Append the report to the summary of GitHub's job, when there is one; return why not, if it failed."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return ""
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(markdown.render(decision, limit=SUMMARY_LIMIT // 4))
    except OSError as error:
        return f"no job summary: {path}: {error.strerror}"
    return ""
