"""`shadow-perfgate gate`."""

import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shadow_perfgate.cli import options

if TYPE_CHECKING:
    from shadow_perfgate.baseline.ancestry import Ancestry
    from shadow_perfgate.baseline.history import Line
    from shadow_perfgate.ci import Job
    from shadow_perfgate.config import Config
    from shadow_perfgate.decide.verdict import Decision
    from shadow_perfgate.gate.request import Setting


@click.command("gate")
@options.config_option
@options.reports_option
@click.option("--base", default="", help="Commit to compare with; by default the merge-base with main.")
@click.option(
    "--record/--no-record", default=None, help="Append to main's baseline; by default on main in CI."
)
@click.option("--comment", is_flag=True, help="Make or update one comment on the merge request.")
@click.option("-w", "--workload", "only", multiple=True, help="Only this workload; may be repeated.")
def command(
    config_path: Path | None,
    reports: Path | None,
    base: str,
    record: bool | None,
    comment: bool,
    only: tuple[str, ...],
) -> None:
    """Measure, compare with main, report; on main, append to the baseline.

    The exit code is the verdict: 0 pass, 1 regression, 2 invalid, 3 inconclusive or unfit machine.
    """
    from shadow_perfgate import ci, config  # noqa: PLC0415 - loaded when called

    settings = config.load(config_path)
    job = ci.detect(os.environ)
    on_main = job.branch == settings.main and not job.request
    if record or (record is None and on_main):
        _record(settings, job, only)
    else:
        decision = _decide(settings, job, base, only, reports or Path("perfgate-report"))
        if comment:
            _comment(decision, job, settings)
        sys.exit(decision.verdict.exit_code)


def _decide(config: "Config", job: "Job", base: str, only: tuple[str, ...], reports: Path) -> "Decision":
    from shadow_perfgate.baseline import ancestry  # noqa: PLC0415 - loaded when called
    from shadow_perfgate.cli import workspace  # noqa: PLC0415
    from shadow_perfgate.errors import InputError  # noqa: PLC0415
    from shadow_perfgate.gate.changed_rules import changed_rules  # noqa: PLC0415
    from shadow_perfgate.gate.request import gate  # noqa: PLC0415
    from shadow_perfgate.report import files, terminal  # noqa: PLC0415

    if base.startswith("-"):
        raise InputError(f"--base: got {base!r}, expected a commit; git would take it for an option")
    root = workspace.repository_of(config.path.resolve().parent)
    workspace.read_plans(config, only)
    workspace.ensure_repository(root)
    known = base or _forge_base(root, job)
    reports.mkdir(parents=True, exist_ok=True)  # a folder that cannot be written is told before measuring
    way = workspace.usable(ancestry.of(root, "HEAD", job.target or config.main, known), root, config)
    with workspace.measurers(config, root, way.merge_base, only) as found:
        setting = _setting(config, job, root, way)
        decision = gate(dict(found), setting)
    moved = changed_rules(root, way.merge_base, config)
    decision = replace(decision, notices=(*decision.notices, *moved))
    terminal.show(decision, options.console())
    files.write_all(decision, reports, config.path, _history(setting))
    files.job_summary(decision)
    click.echo(f"reports: {reports}")
    return decision


def _record(config: "Config", job: "Job", only: tuple[str, ...]) -> None:
    from shadow_perfgate.baseline.ancestry import Ancestry  # noqa: PLC0415 - loaded when called
    from shadow_perfgate.cli import workspace  # noqa: PLC0415
    from shadow_perfgate.gate.main_branch import record  # noqa: PLC0415

    root = workspace.repository_of(config.path.resolve().parent)
    with workspace.measurers(config, root, "", only) as found:
        done = record(dict(found), _setting(config, job, root, Ancestry("", ())))
    for session in done.sessions:
        click.echo(f"recorded {session.workload.name} on {config.main}: {session.id}")
    for warning in done.warnings:
        click.echo(f"warning: {warning}")


def _setting(config: "Config", job: "Job", root: Path, way: "Ancestry") -> "Setting":
    from shadow_perfgate.baseline.git import line  # noqa: PLC0415 - loaded when called
    from shadow_perfgate.baseline.store import open_store  # noqa: PLC0415
    from shadow_perfgate.cli.progress import LogProgress  # noqa: PLC0415
    from shadow_perfgate.gate.request import Setting  # noqa: PLC0415

    return Setting(
        config=config,
        job=replace(job, commit=job.commit or line(root, "rev-parse", "HEAD")),
        store=open_store(config.store, config.store_options, root),
        ancestry=way,
        now=datetime.now(UTC),
        progress=LogProgress(),
        has_base=bool(way.merge_base),
    )


def _forge_base(root: Path, job: "Job") -> str:
    """Return the base as the forge names it; a pull request's merge commit names it best."""
    from shadow_perfgate.baseline.git import line  # noqa: PLC0415 - loaded when called

    parents = line(root, "rev-list", "--parents", "-n", "1", "HEAD").split()[1:]
    if job.provider == "github" and job.request and len(parents) == 2:
        return parents[0]
    return job.base


def _history(setting: "Setting") -> "list[Line]":
    """Return main's history for the report, or none when the store cannot be read: that was said already."""
    from shadow_perfgate.baseline.history import lines  # noqa: PLC0415 - loaded when called
    from shadow_perfgate.errors import StoreError  # noqa: PLC0415

    try:
        return lines(setting.store, setting.project, setting.config)
    except StoreError:
        return []


def _comment(decision: "Decision", job: "Job", config: "Config") -> None:
    from shadow_perfgate.report import comment, markdown  # noqa: PLC0415 - loaded when called

    name = config.path.stem
    click.echo(comment.from_environment(markdown.render(decision, name=name), name, job))
