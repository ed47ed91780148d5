"""Results as text: a trace to replay and read, and a table of figures."""

from collections.abc import Sequence
from pathlib import Path

from chaos.simulation import Result


def command(result: Result) -> str:
    """Return the command that repeats a result."""
    scenario = result.scenario
    trouble = " ".join(sorted(scenario.trouble))
    return (
        f"PYTHONPATH=tests python -m chaos --seed {scenario.seed} --jobs {scenario.jobs} --trouble {trouble}"
    )


def save(result: Result, folder: Path) -> Path:
    """Write what was broken, the command that repeats it and the trace; return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"chaos-{result.scenario.seed}-{result.scenario.jobs}.txt"
    lines = [*(f"BROKEN {breach}" for breach in result.breaches), f"REPLAY {command(result)}", *result.trace]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def table(results: Sequence[Result]) -> str:
    """Return the figures of runs as a Markdown table, one column per run."""
    if not results:
        return ""
    head = "| seed | " + " | ".join(str(result.scenario.seed) for result in results) + " |"
    rule = "|---|" + "---:|" * len(results)
    names = results[0].figures
    rows = [
        f"| {name} | " + " | ".join(f"{result.figures[name]:g}" for result in results) + " |"
        for name in names
    ]
    return "\n".join([head, rule, *rows])
