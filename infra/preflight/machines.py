"""What the settings ask of the cloud for each kind of machine: pools, the controller, and what it makes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from settings import Pool, Settings
from shadow_gpu_runners.spot import SHADOW


@dataclass(frozen=True, slots=True)
class Machine:
    """A kind of machine, and where the configuration asks for it."""

    place: str
    """Configuration key of the section."""
    flavors: tuple[str, ...]
    """Names that the cloud must have."""
    flavor_key: str = "flavor"
    """Key of the flavors in the section."""
    market: str = "on-demand"
    image: str = ""
    """Name of an image of its own; empty for the stack's."""
    volume_type: str = ""
    """Volume type that it names; empty where it names none."""
    zones: tuple[str, ...] = ()


def wanted(settings: Settings) -> list[Machine]:
    """Return every kind of machine that the settings ask for."""
    pools = [_pool(f"pools[{index}]", pool) for index, pool in enumerate(settings.pools)]
    return [*pools, *_autoscaled(settings)]


def bought(flavors: Iterable[str], market: str) -> tuple[str, ...]:
    """Return the flavors that a market buys: the spot twins, the given ones, or both."""
    given = tuple(flavors)
    twins = tuple(SHADOW.spot_name(flavor) for flavor in given)
    return {"spot": twins, "on-demand": given}.get(market, (*twins, *given))


def _pool(place: str, pool: Pool) -> Machine:
    return Machine(
        place,
        bought([pool.flavor], pool.market),
        market=pool.market,
        volume_type=pool.volume.type,
        zones=tuple(pool.zones),
    )


def _autoscaled(settings: Settings) -> Iterator[Machine]:
    if settings.autoscaler is None:
        return
    yield Machine("autoscaler", (settings.autoscaler.flavor,), image=settings.autoscaler.image)
    for index, pool in enumerate(settings.autoscaler.pools):
        yield Machine(
            f"autoscaler.pools[{index}]",
            bought(pool.flavors, pool.market),
            flavor_key="flavors",
            market=pool.market,
            image=pool.image,
            volume_type="" if pool.local_disk else pool.volume.type,
            zones=tuple(pool.zones),
        )
