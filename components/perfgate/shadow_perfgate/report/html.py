"""One HTML file with plots and no other file: it opens from a job's artifacts, without a network."""

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TypeVar

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from shadow_perfgate import __version__
from shadow_perfgate.baseline.history import Line
from shadow_perfgate.decide.verdict import Decision
from shadow_perfgate.report import plots, summary
from shadow_perfgate.text import percent, probability, share

T = TypeVar("T")
_MOST_LINES = 24
"""Metrics whose history is drawn."""


def render(decision: Decision, history: list[Line]) -> str:
    """Return the page for a decision; `history` may be empty."""
    return _template().render(
        decision=decision,
        headline=summary.headline(decision),
        history=[line for line in history if len(line.points) > 1][:_MOST_LINES],
        version=__version__,
        summary=summary,
        share=share,
        percent=percent,
        probability=probability,
        shifts=_drawn(plots.shifts),
        runs=_drawn(plots.runs),
        memory=_drawn(plots.memory),
        line=_drawn(plots.history),
    )


def _drawn(plot: Callable[[T], str]) -> Callable[[T], Markup]:
    """Let a template place a plot unescaped: it is our own SVG, whose texts are escaped."""
    return lambda shown: Markup(plot(shown))  # noqa: S704


@cache
def _template() -> Template:
    source = files("shadow_perfgate.report").joinpath("report.html.j2").read_text(encoding="utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(source)
