"""Small plots as SVG text: axes with round numbers, colours by the page's classes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import floor, isfinite, log10

_HUGE = 1e150
"""Values are drawn up to here, so that differences stay finite."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear scale from values to pixels."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def around(cls, values: Iterable[float], start: float, end: float, margin: float = 0.08) -> "Axis":
        """Return a scale on which all finite `values` fit with some room."""
        finite = [min(max(v, -_HUGE), _HUGE) for v in values if isfinite(v)] or [0.0, 1.0]
        low, high = min(finite), max(finite)
        room = (high - low) * margin or abs(high) * 0.05 or 1.0
        return cls(low - room, high + room, start, end)

    def at(self, value: float) -> float:
        """Return the pixel of a value, held within the scale."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self, count: int = 4) -> list[float]:
        """Return about `count` round values within the scale."""
        raw = (self.high - self.low) / count
        size = 10.0 ** floor(log10(raw))
        step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw)
        first = floor(self.low / step) + 1
        return [k * step for k in range(first, floor(self.high / step) + 1)]


def picture(width: int, height: int, parts: Iterable[str], label: str) -> str:
    """Return a whole SVG element; `label` is what a screen reader says."""
    body = "".join(parts)
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(label)}">{body}</svg>'
    )


def text(x: float, y: float, words: str, anchor: str = "start", cls: str = "") -> str:
    """Return a text element."""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" class="{cls}">{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, cls: str) -> str:
    """Return a straight line."""
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" class="{cls}"/>'


def dot(x: float, y: float, cls: str, title: str = "", radius: float = 3.5) -> str:
    """Return a point; `title` shows when the mouse rests on it."""
    return f'<circle cx="{x}" cy="{y}" r="{radius}" class="{cls}"><title>{escape(title)}</title></circle>'


def path(points: Sequence[tuple[float, float]], cls: str) -> str:
    """Return a line through points."""
    joined = " ".join(f"{x},{y}" for x, y in points)
    return f'<polyline points="{joined}" class="{cls}"/>'


def area(x1: float, y1: float, x2: float, y2: float, cls: str) -> str:
    """Return a filled rectangle between two corners."""
    size = f'width="{abs(x2 - x1):.1f}" height="{abs(y2 - y1):.1f}"'
    return f'<rect x="{min(x1, x2)}" y="{min(y1, y2)}" {size} class="{cls}"/>'
