"""Units of metrics and their conversion; numbers of different kinds of unit are never compared."""

from shadow_perfgate.errors import InputError

_FACTORS: dict[str, tuple[str, float]] = {
    "ns": ("time", 1e-9),
    "us": ("time", 1e-6),
    "ms": ("time", 1e-3),
    "s": ("time", 1.0),
    "B": ("memory", 1.0),
    "KiB": ("memory", 2.0**10),
    "MiB": ("memory", 2.0**20),
    "GiB": ("memory", 2.0**30),
    "kB": ("memory", 1e3),
    "MB": ("memory", 1e6),
    "GB": ("memory", 1e9),
    "mJ": ("energy", 1e-3),
    "J": ("energy", 1.0),
    "mW": ("power", 1e-3),
    "W": ("power", 1.0),
    "tok/s": ("tokens per time", 1.0),
    "req/s": ("requests per time", 1.0),
    "count": ("count", 1.0),
    "ratio": ("share", 1.0),
    "%": ("share", 0.01),
}


def convertible(given: str, wanted: str) -> bool:
    """Tell whether numbers in unit `given` can be stated in unit `wanted`."""
    if given == wanted:
        return True
    return given in _FACTORS and wanted in _FACTORS and _FACTORS[given][0] == _FACTORS[wanted][0]


def convert(value: float, given: str, wanted: str) -> float:
    """Return `value`, given in one unit, in another; raise `InputError` when their kinds differ."""
    if given == wanted:
        return value
    if not convertible(given, wanted):
        raise InputError(f"unit {given!r} cannot be converted to {wanted!r}; state the metric in {wanted!r}")
    return value * _FACTORS[given][1] / _FACTORS[wanted][1]
