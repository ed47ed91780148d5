"""`shadow-perfgate run`."""

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click

from shadow_perfgate.cli import options


@click.command("run")
@options.config_option
@click.option(
    "-n", "--runs", type=click.IntRange(1, 200), default=6, show_default=True, help="Fresh processes."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("perfgate-sessions"),
    show_default=True,
    help="Folder for one session file per workload.",
)
@click.option("-w", "--workload", "only", multiple=True, help="Only this workload; may be repeated.")
def command(config_path: Path | None, runs: int, output: Path, only: tuple[str, ...]) -> None:
    """Measure the working tree, without deciding anything."""
    from shadow_perfgate import ci, codec, config  # noqa: PLC0415 - loaded when called
    from shadow_perfgate.baseline.git import line  # noqa: PLC0415
    from shadow_perfgate.cli import workspace  # noqa: PLC0415
    from shadow_perfgate.cli.progress import LogProgress  # noqa: PLC0415
    from shadow_perfgate.gate.place import folder_of, repository_of  # noqa: PLC0415

    settings = config.load(config_path)
    root = repository_of(folder_of(settings.path))
    job = ci.detect(os.environ)
    plans = workspace.chosen(workspace.read_plans(settings), only)
    output.mkdir(parents=True, exist_ok=True)
    with workspace.measurers(settings, plans, root) as found:
        for name, measurer in found.items():
            session = replace(
                settings.describe(measurer.candidate(runs, LogProgress())),
                project=settings.project or job.project,
                commit=job.commit or line(root, "rev-parse", "HEAD"),
                created=datetime.now(UTC).isoformat(),
            )
            path = output / f"{name}.json"
            path.write_text(codec.dumps(session), encoding="utf-8")
            click.echo(f"{name}: {len(session.counted)} of {runs} runs counted, written to {path}")
            for note in (*session.environment_faults, *session.notes):
                click.echo(f"note: {name}: {note}")
