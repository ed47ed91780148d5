"""`shadow-perfgate report`."""

import os
import sys
from pathlib import Path

import click

from shadow_perfgate.cli import options


@click.command("report")
@click.argument("decision", type=click.Path(dir_okay=False, path_type=Path))
@options.config_option
@options.reports_option
@click.option("--comment", is_flag=True, help="Make or update one comment on the merge request.")
@click.option("--request", default="", help="Number of the merge request, where the job does not know it.")
def command(
    decision: Path, config_path: Path | None, reports: Path | None, comment: bool, request: str
) -> None:
    """Report a decision.json again, as from a job that may comment; the exit code is its verdict."""
    from dataclasses import replace  # noqa: PLC0415 - loaded when called

    from shadow_perfgate import ci, config  # noqa: PLC0415
    from shadow_perfgate.report import comment as commenting  # noqa: PLC0415
    from shadow_perfgate.report import data, files, terminal  # noqa: PLC0415

    found = data.read(decision)
    settings = config.load(config_path)
    terminal.show(found, options.console())
    if reports is not None:
        files.write_all(found, reports, settings.path)
    if comment:
        job = ci.detect(os.environ)
        job = replace(job, request=request or job.request)
        click.echo(commenting.from_environment(found, job))
    sys.exit(found.verdict.exit_code)
