"""Which flavor, zone and market each instance of a group gets; pure, so that scaling is shown to be safe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shadow_gpu_runners._validation import Problems
from shadow_gpu_runners.spot import SHADOW, SpotNames, parse_rule

MARKETS = ("spot", "on-demand", "spot-then-on-demand")
"""How instances are bought."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One place in a group, filled by one instance."""

    name: str
    """Instance name, `<prefix>-<two or more digits>`."""

    flavor: str
    """Name of the flavor to boot."""

    spot: bool
    """Whether that is a spot flavor."""

    zone: str | None
    """Availability zone; None leaves the choice to the cloud."""

    after: str | None
    """Name of the instance whose replacement must have ended first; None when there is none."""

    @property
    def suffix(self) -> str:
        """Digits that the name ends with."""
        return self.name.rpartition("-")[2]


def instance_names(prefix: str, count: int) -> list[str]:
    """Return the names of a group of `count`: a smaller group's names are the beginning of a larger one's."""
    return [f"{prefix}-{number:02d}" for number in range(1, count + 1)]


def slots(
    *,
    names: Sequence[str],
    flavor: str,
    market: str,
    fallback: Sequence[str],
    zones: Sequence[str],
    twins: SpotNames,
    max_unavailable: int,
) -> list[Slot]:
    """Return the place of each of `names`; in market spot-then-on-demand those in `fallback` pay in full."""

    def is_spot(name: str) -> bool:
        return market == "spot" or (market == "spot-then-on-demand" and name not in fallback)

    return [
        Slot(
            name=name,
            flavor=twins.spot_name(flavor) if is_spot(name) else flavor,
            spot=is_spot(name),
            zone=zones[index % len(zones)] if zones else None,
            after=names[index - max_unavailable] if index >= max_unavailable else None,
        )
        for index, name in enumerate(names)
    ]


def half(count: int) -> int:
    """Return how many of `count` may be away at a time unless the user says: half, at least one."""
    return max(1, (count + 1) // 2)


def spot_names(problems: Problems, rule: str | None, overrides: Mapping[str, str] | None) -> SpotNames:
    """Return the naming of spot twins that the inputs `spotRule` and `spotNames` describe."""
    if rule is None:
        return SpotNames(overrides=overrides or {})
    try:
        return SpotNames(parse_rule(rule), overrides or {})
    except ValueError as error:
        problems.add("spotRule", rule, "second-word:<word>, prefix:<text> or suffix:<text>", str(error))
        return SHADOW
