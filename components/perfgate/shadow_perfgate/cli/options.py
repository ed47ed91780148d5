"""Options and outputs that sub-commands share."""

import os
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console

F = TypeVar("F", bound=Callable[..., object])
WIDTH = 132
"""Columns used where the terminal's width is not known, as in a job's log."""


def config_option(function: F) -> F:
    """Add `--config`."""
    return click.option(
        "-c",
        "--config",
        "config_path",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Configuration; by default perfgate.toml in the current folder.",
    )(function)


def reports_option(function: F) -> F:
    """Add `--reports`."""
    return click.option(
        "--reports",
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder for report.html, report.md, junit.xml, metrics.txt, codequality.json and more.",
    )(function)


def rules_option(function: F) -> F:
    """Add `--rules-from`."""
    return click.option(
        "--rules-from",
        type=click.Choice(("auto", "base", "head")),
        default="auto",
        show_default=True,
        help="Whose perfgate.toml judges, the merge-base's or this checkout's; "
        "`auto`: as the merge-base's says.",
    )(function)


def console(*, stderr: bool = False) -> "Console":
    """Return a console as wide as the terminal, or wide enough for the tables in a log."""
    from rich.console import Console  # noqa: PLC0415 - slow to import

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS") else WIDTH
    return Console(stderr=stderr, width=width, highlight=False)


def today() -> date:
    """Return today's date in UTC, by which waivers expire."""
    return datetime.now(UTC).date()
