"""Shadow's GPU offers as typed values: the flavor-name grammar, what is on offer, and near matches.

Nothing here talks to a cloud: a cloud's own flavor list has the last word, and an `Offer` marked as example
only shows the form of a name until that list has been read.
"""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

BOOT_VOLUME_GIB = 100
"""Size of a boot volume unless told otherwise: CUDA images of 10 to 20 GiB, their layers and a job's data."""

BOOT_VOLUME_TYPE = "Wood"
"""Shadow's standard volume type."""

GRAMMAR = "<range>[-preemptible]-c<vCPU>m<RAM GB>-gpu-<model>-<cards>"
"""Form of a GPU flavor's name, for messages."""

_NAME = re.compile(
    r"(?P<range>[a-z][a-z0-9]*)(?P<spot>-preemptible)?"
    r"-c(?P<vcpus>[1-9][0-9]{0,3})m(?P<ram>[1-9][0-9]{0,4})"
    r"-gpu-(?P<model>[a-z0-9]+)-(?P<cards>[1-9][0-9]?)"
)


class FlavorNameError(ValueError):
    """A text is not a GPU flavor's name."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"flavor name {name!r} does not fit {GRAMMAR}, for example 'edge-c4m16-gpu-2000-1'; "
            "take a name from `openstack flavor list`"
        )
        self.name = name


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU model that instances are sold with."""

    model: str
    """Word in flavor names, for example `a4500`."""

    title: str
    """Name as the maker writes it."""

    vram_mib: int
    """Memory of one card in MiB."""

    max_cards: int
    """Most cards that one instance can have."""


RTX_2000_ADA = Gpu("2000", "NVIDIA RTX 2000 Ada", 16 * 1024, 1)
RTX_A4500 = Gpu("a4500", "NVIDIA RTX A4500", 20 * 1024, 8)
GPUS: tuple[Gpu, ...] = (RTX_2000_ADA, RTX_A4500)
"""GPU models on the public price list (read 2026-11-30)."""


@dataclass(frozen=True, slots=True)
class FlavorName:
    """A GPU flavor's name, taken apart."""

    range: str
    """Product range, one word, for example `boost`."""

    vcpus: int
    """Virtual CPUs."""

    ram_gib: int
    """Memory in GiB."""

    model: str
    """GPU model's word, for example `a4500`."""

    cards: int
    """GPU cards."""

    spot: bool = False
    """Whether the name's second word is `preemptible`."""

    @classmethod
    def parse(cls, name: str) -> Self:
        """Take `name` apart; raises `FlavorNameError` when it does not fit the grammar."""
        match = _NAME.fullmatch(name)
        if match is None:
            raise FlavorNameError(name)
        return cls(
            range=match["range"],
            vcpus=int(match["vcpus"]),
            ram_gib=int(match["ram"]),
            model=match["model"],
            cards=int(match["cards"]),
            spot=match["spot"] is not None,
        )

    def __str__(self) -> str:
        word = "-preemptible" if self.spot else ""
        return f"{self.range}{word}-c{self.vcpus}m{self.ram_gib}-gpu-{self.model}-{self.cards}"

    def on_demand(self) -> Self:
        """Return the name of the flavor that is kept once allocated."""
        return replace(self, spot=False)

    def preemptible(self) -> Self:
        """Return the name of the spot twin."""
        return replace(self, spot=True)


@dataclass(frozen=True, slots=True)
class Offer:
    """An instance size with GPUs; each is sold on demand and, under its spot name, as spot."""

    flavor: str
    """Name of the on-demand flavor."""

    gpu: Gpu
    """Model of the cards."""

    cards: int
    """GPU cards."""

    vcpus: int
    """Virtual CPUs."""

    ram_mib: int
    """Memory in MiB."""

    example: bool
    """True while no cloud's own list has confirmed the name: it only shows the form."""

    @property
    def vram_mib(self) -> int:
        """GPU memory of all cards together in MiB."""
        return self.gpu.vram_mib * self.cards

    @classmethod
    def from_name(cls, flavor: str, *, example: bool) -> Self:
        """Read the offer out of its flavor's name; raises `FlavorNameError` or `KeyError` (unknown model)."""
        name = FlavorName.parse(flavor)
        gpu = {known.model: known for known in GPUS}[name.model]
        return cls(
            flavor=str(name.on_demand()),
            gpu=gpu,
            cards=name.cards,
            vcpus=name.vcpus,
            ram_mib=name.ram_gib * 1024,
            example=example,
        )


OFFERS: tuple[Offer, ...] = tuple(
    Offer.from_name(flavor, example=True)
    for flavor in (
        "edge-c4m16-gpu-2000-1",
        "boost-c8m32-gpu-a4500-1",
        "boost-c16m64-gpu-a4500-2",
        "boost-c32m128-gpu-a4500-4",
        "boost-c64m256-gpu-a4500-8",
    )
)
"""Sizes in the form that Shadow uses. No list of its flavors is published, so every one is an example."""


def offer(flavor: str) -> Offer | None:
    """Return the offer sold under `flavor`, on demand or as spot, or None when the catalog has none."""
    try:
        wanted = str(FlavorName.parse(flavor).on_demand())
    except FlavorNameError:
        return None
    return next((known for known in OFFERS if known.flavor == wanted), None)


def known_names() -> list[str]:
    """Return every flavor name of the catalog, each on-demand name followed by its spot twin."""
    names = (FlavorName.parse(known.flavor) for known in OFFERS)
    return [text for name in names for text in (str(name), str(name.preemptible()))]


def near_matches(name: str, known: Iterable[str] | None = None, limit: int = 3) -> list[str]:
    """Return up to `limit` names out of `known` (default: catalog) that `name` may have meant, best first."""
    candidates = list(known_names() if known is None else known)
    return difflib.get_close_matches(name, candidates, n=limit, cutoff=0.75)
