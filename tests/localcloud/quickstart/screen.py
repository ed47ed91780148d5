"""What the quickstart prints: the job's log, what was built, what it costs, what to do next."""

import json
import re
import subprocess
from collections.abc import Iterable
from typing import Any, cast

from gitlab.v4.objects import ProjectJob, ProjectPipeline
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

# GitLab marks foldable parts of a job's log so; they mean nothing outside its page.
_SECTION = re.compile(r"(\x1b\[0K)?section_(start|end):\d+:[^\r\n]*\r?(\x1b\[0K)?")
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def show_log(console: Console, text: str) -> None:
    """Print a part of a job's log, each line behind a bar."""
    for line in _SECTION.sub("", text).splitlines():
        shown = _ESCAPES.sub("", line).rstrip()
        if shown:
            console.print(f"  │ {shown}", markup=False, style="dim", soft_wrap=True)


def show_result(console: Console, job: ProjectJob, pipeline: ProjectPipeline, seconds: float) -> None:
    """Print one line: the pipeline's verdict, the job's runner and how long it took."""
    good = pipeline.status == "success"
    taken: dict[str, Any] | None = job.attributes.get("runner")
    runner = taken["description"] if taken else "no runner"
    console.print(
        f"{'✓' if good else '✗'} pipeline {pipeline.id} {pipeline.status}: {job.name} on {runner},"
        f" {seconds:.1f} s from push to end",
        style="bold green" if good else "bold red",
    )


def stack_outputs() -> dict[str, Any]:
    """Return the dev stack's outputs (secret ones stay hidden)."""
    done = subprocess.run(
        ["pulumi", "stack", "output", "--json", "--stack", "dev"], capture_output=True, text=True, check=True
    )
    outputs: dict[str, Any] = json.loads(done.stdout)
    return outputs


def show_stack(console: Console, outputs: dict[str, Any]) -> None:
    """Print the instances, the runner registrations, the cost and the next commands."""
    console.print()
    table = Table("instance", "flavor", "address", title="What was built", title_justify="left", min_width=78)
    for entry in outputs["instances"]:
        table.add_row(entry["name"], entry["flavor"], entry["address"])
    console.print(table)
    for label, key in (("GitLab runner", "gitlabRunner"), ("GitHub runner group", "githubRunnerGroup")):
        if key in outputs:
            details = ", ".join(f"{name} {_plain(value)}" for name, value in outputs[key].items())
            console.print(f"{label}: {details}", markup=False)
    console.print(Panel(_cost(outputs["monthlyCost"]), title="What it costs", title_align="left", width=100))
    console.print(Panel(_next(), title="Next", title_align="left", width=100))
    console.print(_HONESTY, style="dim")


_HONESTY = (
    "Real here: Pulumi and its providers, the OpenStack control plane, the machine's user-data and boot. "
    "Simulated: hypervisor, GPU, Docker, GitLab and GitHub."
)


def _plain(value: Any) -> str:
    return ", ".join(cast("list[str]", value)) if isinstance(value, list) else str(value)


def _grid(rows: Iterable[tuple[str, str]]) -> Table:
    grid = Table.grid(padding=(0, 2))
    for label, value in rows:
        grid.add_row(Text(label), Text(value))
    return grid


def _cost(cost: dict[str, Any]) -> Table:
    return _grid((name, str(value)) for name, value in cost.items())


def _next() -> Table:
    return _grid(
        (
            ('eval "$(scripts/env)"', "use this cloud from your shell"),
            ("pulumi preview", "after an edit of Pulumi.dev.yaml, for example count: 3"),
            ("scripts/quickstart", "again: brings everything up to date and runs the pipeline"),
            ("scripts/localcloud status", "what runs, and where the forges' pages are"),
            ("pulumi destroy", "removes all of it; scripts/localcloud down stops the cloud"),
        )
    )
