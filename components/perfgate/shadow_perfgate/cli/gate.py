"""`shadow-perfgate gate`."""

import os
import sys
from dataclasses import dataclass, replace
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
    from shadow_perfgate.gate.judging import Judged
    from shadow_perfgate.gate.request import Setting
    from shadow_perfgate.model import Session


@click.command("gate")
@options.config_option
@options.reports_option
@options.rules_option
@click.option("--base", default="", help="Commit to compare with; by default the merge-base with main.")
@click.option(
    "--record/--no-record", default=None, help="Append to main's baseline; by default on main in CI."
)
@click.option("--comment", is_flag=True, help="Make or update one comment on the merge request.")
@click.option("--comment-key", default="", help="Tells this gate's comment from those of other jobs.")
@click.option("-w", "--workload", "only", multiple=True, help="Only this workload; may be repeated.")
def command(
    config_path: Path | None,
    reports: Path | None,
    rules_from: str,
    base: str,
    record: bool | None,
    comment: bool,
    comment_key: str,
    only: tuple[str, ...],
) -> None:
    """Measure, compare with main, report; on main, append to the baseline.

    The exit code is the verdict: 0 pass, 1 regression, 2 invalid, 3 inconclusive or unfit machine.
    """
    from shadow_perfgate import ci, config  # noqa: PLC0415 - loaded when called

    settings = config.load(config_path)
    job = ci.detect(os.environ)
    folder = reports or Path("perfgate-report")
    if record or (record is None and _is_main(settings, job)):
        _record(settings, job, only, folder)
    else:
        call = _Call(settings, job, base, only, folder, rules_from, comment_key)
        decision = _decide(call)
        if comment:
            _comment(decision, job)
        sys.exit(decision.verdict.exit_code)


def _is_main(config: "Config", job: "Job") -> bool:
    from shadow_perfgate.gate import base  # noqa: PLC0415 - loaded when called
    from shadow_perfgate.gate.place import ensure_plain, folder_of, repository_of  # noqa: PLC0415

    root = repository_of(folder_of(config.path))
    ensure_plain(config.path, root, job)
    return base.is_main(config, root, job)


@dataclass(frozen=True, slots=True)
class _Call:
    """What the gate of one change was asked for."""

    config: "Config"
    job: "Job"
    base: str
    only: tuple[str, ...]
    reports: Path
    rules_from: str
    comment_key: str


def _decide(call: _Call) -> "Decision":
    from shadow_perfgate.report import files, markdown, terminal  # noqa: PLC0415 - loaded when called

    judged, root, way = _prepared(call)
    decision, history = _measured(call, judged, root, way)
    key = markdown.comment_key(call.comment_key or _key(call, root))
    decision = replace(decision, notices=(*decision.notices, *judged.notices), key=key)
    terminal.show(decision, options.console())
    files.write_all(decision, call.reports, call.config.path, history)
    for said in filter(None, (files.job_summary(decision), f"reports: {call.reports}")):
        click.echo(said)
    return decision


def _prepared(call: _Call) -> "tuple[Judged, Path, Ancestry]":
    """Return what judges, the repository and the way to main; every fault is told before measuring."""
    from shadow_perfgate.cli import workspace  # noqa: PLC0415 - loaded when called
    from shadow_perfgate.errors import InputError  # noqa: PLC0415
    from shadow_perfgate.gate.base import ancestry_of, remarks, usable  # noqa: PLC0415
    from shadow_perfgate.gate.judging import judge  # noqa: PLC0415
    from shadow_perfgate.gate.place import (  # noqa: PLC0415
        ensure_plain,
        folder_of,
        repository_of,
        without_own_baseline,
    )

    if call.base.startswith("-"):
        raise InputError(f"--base: got {call.base!r}, expected a commit; git would take it for an option")
    root = repository_of(folder_of(call.config.path))
    plans = workspace.read_plans(call.config)
    workspace.ensure_repository(root)
    ensure_plain(call.config.path, root, call.job)
    call.reports.mkdir(parents=True, exist_ok=True)
    way = usable(ancestry_of(call.config, root, call.job, call.base), root, call.config, call.job)
    judged = judge(call.config, root, way.merge_base, call.rules_from)
    config, unused = without_own_baseline(judged.config, root)
    said = (*remarks(call.config, root, call.job, way), *unused, *judged.notices)
    plans = workspace.all_plans(judged, plans)
    return replace(judged, config=config, notices=said, plans=tuple(plans)), root, way


def _measured(call: _Call, judged: "Judged", root: Path, way: "Ancestry") -> "tuple[Decision, list[Line]]":
    from shadow_perfgate.cli import workspace  # noqa: PLC0415 - loaded when called
    from shadow_perfgate.gate.request import gate  # noqa: PLC0415

    plans = workspace.chosen(judged.plans, call.only)
    before = judged.before or call.config
    base = workspace.Base(way.merge_base, before.prepare) if way.merge_base else None
    with workspace.measurers(judged.config, plans, root, base) as found:
        setting = _setting(judged.config, call.job, root, way)
        decision = gate(dict(found), setting)
    return decision, _history(setting)


def _key(call: _Call, root: Path) -> str:
    """Return what tells this gate's comment from those of other jobs, configurations and workloads."""
    from shadow_perfgate.baseline.git import within  # noqa: PLC0415 - loaded when called

    place = (within(root, call.config.path) or call.config.path.name).removesuffix(".toml")
    parts = [place, call.job.name, *sorted(call.only)]
    return "/".join(dict.fromkeys(filter(None, parts)))


def _record(config: "Config", job: "Job", only: tuple[str, ...], reports: Path) -> None:
    from shadow_perfgate.baseline.ancestry import Ancestry  # noqa: PLC0415 - loaded when called
    from shadow_perfgate.cli import workspace  # noqa: PLC0415
    from shadow_perfgate.gate.main_branch import record  # noqa: PLC0415
    from shadow_perfgate.gate.place import folder_of, repository_of  # noqa: PLC0415

    root = repository_of(folder_of(config.path))
    plans = workspace.chosen(workspace.read_plans(config), only)
    with workspace.measurers(config, plans, root) as found:
        done = record(dict(found), _setting(config, job, root, Ancestry("", ())))
    for session in done.sessions:
        click.echo(f"recorded {session.workload.name} on {config.main}: {session.id}")
    for warning in done.warnings:
        click.echo(f"warning: {warning}")
    if done.unstored:
        _keep(done.unstored, reports)
    if done.refused is not None:
        raise done.refused


def _keep(sessions: "tuple[Session, ...]", reports: Path) -> None:
    """Write what the store refused, so that a measurement is not lost with it."""
    from shadow_perfgate import codec  # noqa: PLC0415 - loaded when called

    folder = reports / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    for session in sessions:
        (folder / f"{session.workload.name}.json").write_text(codec.dumps(session), encoding="utf-8")
    click.echo(f"not stored, kept in {folder}: `shadow-perfgate baseline add {folder}` adds them later")


def _setting(config: "Config", job: "Job", root: Path, way: "Ancestry") -> "Setting":
    from shadow_perfgate.baseline.git import line  # noqa: PLC0415 - loaded when called
    from shadow_perfgate.cli.progress import LogProgress  # noqa: PLC0415
    from shadow_perfgate.gate.place import store_of  # noqa: PLC0415
    from shadow_perfgate.gate.request import Setting  # noqa: PLC0415

    return Setting(
        config=config,
        job=replace(job, commit=job.commit or line(root, "rev-parse", "HEAD")),
        store=store_of(config),
        ancestry=way,
        now=datetime.now(UTC),
        progress=LogProgress(),
    )


def _history(setting: "Setting") -> "list[Line]":
    """Return main's history for the report, or none when the store cannot be read: that was said already."""
    from shadow_perfgate.baseline.history import lines  # noqa: PLC0415 - loaded when called
    from shadow_perfgate.errors import StoreError  # noqa: PLC0415

    try:
        return lines(setting.store, setting.project, setting.config)
    except StoreError:
        return []


def _comment(decision: "Decision", job: "Job") -> None:
    from shadow_perfgate.report import comment  # noqa: PLC0415 - loaded when called

    click.echo(comment.from_environment(decision, job))
