"""The order of interleaved arms: A B, B A, A B, … so that a drift of the machine hits both the same."""

from collections.abc import Iterator
from typing import Literal

Arm = Literal["base", "candidate"]


def interleaved(first: int, last: int) -> Iterator[tuple[int, int, Arm]]:
    """Yield (pair, position, arm) of the pairs `first` (inclusive) to `last` (exclusive)."""
    for pair in range(first, last):
        arms: tuple[Arm, Arm] = ("base", "candidate") if pair % 2 == 0 else ("candidate", "base")
        for place, arm in enumerate(arms):
            yield pair, 2 * pair + place, arm
