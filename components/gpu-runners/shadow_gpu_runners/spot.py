"""How a cloud writes "spot" in a flavor's name: one replaceable rule and a map of exceptions.

Nova has no word for spot. Shadow puts `preemptible` second in the name; other clouds use a prefix or
a suffix. Everything that needs to know asks a `SpotNames`, so a new convention is one small class.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol


class SpotRule(Protocol):
    """A convention that turns an on-demand flavor's name into its spot twin's and back."""

    def spot_name(self, on_demand: str) -> str:
        """Return the spot twin's name of the flavor `on_demand`."""
        ...

    def on_demand_name(self, spot: str) -> str | None:
        """Return the on-demand twin's name of `spot`, or None when `spot` is not a spot flavor's name."""
        ...


@dataclass(frozen=True, slots=True)
class SecondWord:
    """Spot flavors have `word` as the second of the words between dashes (Shadow)."""

    word: str = "preemptible"
    """The word."""

    def spot_name(self, on_demand: str) -> str:
        """Return `on_demand` with the word put second."""
        first, dash, rest = on_demand.partition("-")
        return f"{first}-{self.word}{dash}{rest}"

    def on_demand_name(self, spot: str) -> str | None:
        """Return `spot` without its second word, or None when that is another word."""
        words = spot.split("-")
        if len(words) < 2 or words[1] != self.word:
            return None
        return "-".join([words[0], *words[2:]])


@dataclass(frozen=True, slots=True)
class Prefix:
    """Spot flavors begin with `text`, for example `spot.`."""

    text: str
    """The prefix."""

    def spot_name(self, on_demand: str) -> str:
        """Return `on_demand` with the prefix."""
        return self.text + on_demand

    def on_demand_name(self, spot: str) -> str | None:
        """Return `spot` without the prefix, or None when it has none."""
        return spot.removeprefix(self.text) if spot.startswith(self.text) else None


@dataclass(frozen=True, slots=True)
class Suffix:
    """Spot flavors end with `text`, for example `.spot`."""

    text: str
    """The suffix."""

    def spot_name(self, on_demand: str) -> str:
        """Return `on_demand` with the suffix."""
        return on_demand + self.text

    def on_demand_name(self, spot: str) -> str | None:
        """Return `spot` without the suffix, or None when it has none."""
        return spot.removesuffix(self.text) if spot.endswith(self.text) else None


@dataclass(frozen=True, slots=True)
class SpotNames:
    """A cloud's rule together with the flavors that do not follow it."""

    rule: SpotRule = field(default_factory=SecondWord)
    """The convention."""

    overrides: Mapping[str, str] = field(default_factory=dict[str, str])
    """Spot name by on-demand name, for twins that the rule gets wrong."""

    def spot_name(self, on_demand: str) -> str:
        """Return the spot twin's name of the flavor `on_demand`."""
        return self.overrides.get(on_demand) or self.rule.spot_name(on_demand)

    def on_demand_name(self, spot: str) -> str | None:
        """Return the on-demand twin's name of `spot`, or None when `spot` is not a spot flavor's name."""
        reverse = {twin: name for name, twin in self.overrides.items()}
        return reverse.get(spot) or self.rule.on_demand_name(spot)

    def is_spot(self, flavor: str) -> bool:
        """Say whether `flavor` is a spot flavor's name."""
        return self.on_demand_name(flavor) is not None


SHADOW = SpotNames()
"""Shadow's convention."""

_KINDS: Mapping[str, Callable[[str], SpotRule]] = {
    "second-word": SecondWord,
    "prefix": Prefix,
    "suffix": Suffix,
}


def parse_rule(text: str) -> SpotRule:
    """Return the rule written as `second-word:<word>`, `prefix:<text>` or `suffix:<text>`.

    The written form reaches a component from any language and from stack configuration.
    Raises `ValueError` with the expected form.
    """
    kind, _, value = text.partition(":")
    if kind not in _KINDS or not value:
        raise ValueError(
            f"spot rule {text!r} is not one of second-word:<word>, prefix:<text>, suffix:<text>; "
            "Shadow's is second-word:preemptible"
        )
    return _KINDS[kind](value)
