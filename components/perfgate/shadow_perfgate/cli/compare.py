"""`shadow-perfgate compare`."""

import sys
from dataclasses import replace
from pathlib import Path

import click

from shadow_perfgate.cli import options

_PATH = click.Path(path_type=Path)


@click.command("compare")
@click.argument("base", type=_PATH)
@click.argument("candidate", type=_PATH)
@options.config_option
@options.reports_option
@options.rules_option
def command(
    base: Path, candidate: Path, config_path: Path | None, reports: Path | None, rules_from: str
) -> None:
    """Compare sessions measured before: files, or folders with one file per workload.

    The exit code is the verdict: 0 pass, 1 regression, 2 invalid, 3 inconclusive or unfit machine.
    """
    from shadow_perfgate import compare, config  # noqa: PLC0415 - loaded when called
    from shadow_perfgate.cli import workspace  # noqa: PLC0415
    from shadow_perfgate.report import files, terminal  # noqa: PLC0415

    settings = config.load(config_path)
    judged = workspace.judged(settings, rules_from)
    decision = compare.compare(base, candidate, judged.config, options.today())
    compare.ensure_compared(decision.workloads)
    decision = replace(decision, notices=(*decision.notices, *judged.notices))
    terminal.show(decision, options.console())
    if reports is not None:
        files.write_all(decision, reports, settings.path)
    sys.exit(decision.verdict.exit_code)
