"""Any command that prints one JSON object with its figures as its last line of output.

The object is `{"metrics": {name: number}, "requests": n, "output_digest": "..."}` or flat, `{name: number}`.
With the option `metrics` the command's names become canonical ones. `null` means "not measured". Warm-up is
the command's own.
"""

import json
from collections.abc import Mapping
from math import inf, isfinite
from typing import Any, cast

from shadow_perfgate.errors import MeasureError
from shadow_perfgate.masking import tail, words
from shadow_perfgate.measure.process import TAIL, Ended


def told(ended: Ended, options: Mapping[str, object], window: tuple[int, int]) -> dict[str, Any]:
    """Return what the command measured in the worker's form."""
    argv = cast("list[str]", options["argv"])
    if ended.code != 0:
        raise MeasureError(
            f"{' '.join(words(argv))} ended with {ended.code}: {tail(ended.stderr or ended.stdout, TAIL)}"
        )
    table = last_object(ended.stdout, argv)
    numbers = _table(table.get("metrics", table), argv)
    names = cast("Mapping[str, str]", options.get("metrics", {}))
    metrics = {names.get(key, key): value for key, value in numbers.items() if not names or key in names}
    return {
        "metrics": finite(metrics, argv),
        "requests": _requests(table.get("requests", 0), argv),
        "digest": str(table.get("output_digest", "")),
        "windows": [window],
        "start_time": 0.0,
        "peaks": {},
        "kernel": None,
        "samples": {},
        "quiescent": (),
        "host_quiescent": (),
        "quiescent_ns": (),
        "residual_mib": None,
        "notes": ("the command warms up and repeats by itself",),
        "software": {},
        "warmup": {"passes": 0, "stable": True, "medians": ()},
    }


def last_object(output: str, argv: list[str]) -> dict[str, Any]:
    """Return the JSON object of the last line that holds one."""
    for line in reversed(output.splitlines()):
        if line.strip().startswith("{"):
            try:
                return cast("dict[str, Any]", json.loads(line))
            except (ValueError, RecursionError) as error:
                raise MeasureError(
                    f"{' '.join(words(argv))}: last JSON line {line[:80]!r} is broken: {error}"
                ) from error
    raise MeasureError(
        f"{' '.join(words(argv))} printed no JSON object; print the figures as one object on one line"
    )


def finite(metrics: Mapping[str, object], argv: list[str]) -> dict[str, float]:
    """Return the measured numbers; text and booleans are no figures, NaN and infinity are faults."""
    numbers = {
        name: _float(value)
        for name, value in metrics.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    broken = [f"{name} = {value}" for name, value in numbers.items() if not isfinite(value)]
    if broken:
        raise MeasureError(
            f"{' '.join(words(argv))} printed figures that are no numbers: {', '.join(broken)}"
        )
    if not numbers:
        raise MeasureError(
            f"{' '.join(words(argv))} printed no figure; expected numbers by name, got {dict(metrics)}"
        )
    return numbers


def _table(value: object, argv: list[str]) -> dict[str, object]:
    if not isinstance(value, dict):
        raise MeasureError(
            f"{' '.join(words(argv))}: metrics: got {str(value)[:80]}, expected an object of numbers by name"
        )
    return cast("dict[str, object]", value)


def _requests(value: object, argv: list[str]) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise MeasureError(
            f"{' '.join(words(argv))}: requests: got {str(value)[:80]}, expected a whole number, 0 or more"
        )
    return value


def _float(value: float) -> float:
    """Return `value`; whole numbers too large for a float are infinite, which the caller refuses."""
    try:
        return float(value)
    except OverflowError:
        return inf
