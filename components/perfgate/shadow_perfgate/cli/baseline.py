"""`shadow-perfgate baseline`: what lies in the store."""

import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shadow_perfgate.cli import options

if TYPE_CHECKING:
    from shadow_perfgate.baseline.store import Store
    from shadow_perfgate.config import Config

_FILE = click.Path(exists=True, path_type=Path)


@click.group("baseline")
def command() -> None:
    """List, add, compare with and prune stored sessions."""


@command.command("list")
@options.config_option
def list_command(config_path: Path | None) -> None:
    """List the stored sessions, oldest first."""
    from shadow_perfgate.baseline.sessions import entries  # noqa: PLC0415 - loaded when called

    _, store = _opened(config_path)
    for entry in entries(store, ""):
        click.echo(entry.name)


@command.command("add")
@options.config_option
@click.option("--branch", default="", help="Branch to store below; by default main.")
@click.argument("sessions", type=_FILE, nargs=-1, required=True)
def add_command(config_path: Path | None, branch: str, sessions: tuple[Path, ...]) -> None:
    """Append session files to the store; existing ones are never changed, and nothing is added twice."""
    from shadow_perfgate import codec  # noqa: PLC0415 - loaded when called
    from shadow_perfgate.baseline.sessions import add_once  # noqa: PLC0415

    config, store = _opened(config_path)
    read = [session for path in sessions for session in codec.read_all(path)]
    for session in read:
        kept, new = add_once(store, config.labelled(session), branch or config.main, datetime.now(UTC))
        click.echo(f"{'added' if new else 'already stored'} {kept.workload.name}: {kept.id}")


@command.command("compare")
@options.config_option
@options.reports_option
@options.rules_option
@click.argument("session", type=_FILE)
def compare_command(config_path: Path | None, reports: Path | None, rules_from: str, session: Path) -> None:
    """Compare a session with the stored baseline: 0 pass, 3 not decided; this never blocks."""
    from shadow_perfgate import codec, config  # noqa: PLC0415 - loaded when called
    from shadow_perfgate.cli import workspace  # noqa: PLC0415
    from shadow_perfgate.gate.place import store_of  # noqa: PLC0415
    from shadow_perfgate.gate.stored import compare_stored  # noqa: PLC0415
    from shadow_perfgate.report import files, terminal  # noqa: PLC0415

    judged = workspace.judged(config.load(config_path), rules_from)
    found = codec.read_all(session)
    decision = compare_stored(found, store_of(judged.config), judged.config, datetime.now(UTC))
    decision = replace(decision, notices=(*decision.notices, *judged.notices))
    terminal.show(decision, options.console())
    if reports is not None:
        files.write_all(decision, reports, judged.config.path)
    sys.exit(decision.verdict.exit_code)


@command.command("prune")
@options.config_option
@click.option(
    "--keep", type=click.IntRange(10), default=200, show_default=True, help="Newest per key to keep."
)
@click.option(
    "--days", type=click.IntRange(1), default=180, show_default=True, help="Age below which all stay."
)
@click.option("--yes", is_flag=True, help="Delete; without it, only say what would go.")
def prune_command(config_path: Path | None, keep: int, days: int, yes: bool) -> None:
    """Delete old sessions; the first ones of each key stay, drift is judged against them."""
    from shadow_perfgate.baseline.history import prunable  # noqa: PLC0415 - loaded when called
    from shadow_perfgate.baseline.sessions import entries  # noqa: PLC0415

    _, store = _opened(config_path)
    found = entries(store, "")
    gone = prunable(found, datetime.now(UTC), keep=keep, days=days)
    if yes:
        store.delete(entry.name for entry in gone)
    click.echo(f"{'deleted' if yes else 'would delete'} {len(gone)} of {len(found)} sessions")
    if gone and not yes:
        click.echo("run again with --yes to delete them")


def _opened(config_path: Path | None) -> "tuple[Config, Store]":
    from shadow_perfgate import config  # noqa: PLC0415 - loaded when called
    from shadow_perfgate.gate.place import store_of  # noqa: PLC0415

    settings = config.load(config_path)
    return settings, store_of(settings)
