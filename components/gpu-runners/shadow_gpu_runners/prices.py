"""Prices per hour with their source and date, and the price book that holds them.

Money is `Decimal`, in EUR. A price nobody published is marked as assumed; a flavor without a
price has none, and is never counted as free without saying so.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

from shadow_gpu_runners.catalog import OFFERS, RTX_2000_ADA, RTX_A4500, FlavorName
from shadow_gpu_runners.spot import SHADOW, SpotNames

HIGHEST_EUR_PER_HOUR = 1_000_000
"""More is a mistake."""

HOURS_PER_MONTH = 730
"""Hours of an average month, as cloud price lists count."""


def is_price(amount: Decimal) -> bool:
    """Say whether `amount` can be a price in EUR per hour."""
    return amount.is_finite() and 0 <= amount <= HIGHEST_EUR_PER_HOUR


@dataclass(frozen=True, slots=True)
class Price:
    """What one unit costs."""

    eur_per_hour: Decimal
    """EUR per hour and unit: a server, a GiB of volume, or an address."""

    source: str
    """Where it was read."""

    as_of: dt.date
    """When it was read."""

    assumed: bool
    """True when nobody published it and it is derived."""

    def __post_init__(self) -> None:
        """Refuse what is no amount of money, which would spoil every sum; raises `ValueError`."""
        if not is_price(self.eur_per_hour):
            raise ValueError(
                f"price from {self.source!r}: got {self.eur_per_hour} EUR per hour, expected 0 to "
                f"{HIGHEST_EUR_PER_HOUR}; correct it"
            )

    @property
    def eur_per_month(self) -> Decimal:
        """EUR per month of 730 hours, exact."""
        return self.eur_per_hour * HOURS_PER_MONTH


@dataclass(frozen=True, slots=True)
class PriceBook:
    """The prices that an estimate is made with."""

    flavors: Mapping[str, Price] = field(default_factory=dict[str, Price])
    """Price of a server by flavor name, spot twins under their own names."""

    volumes: Mapping[str, Price] = field(default_factory=dict[str, Price])
    """Price of a GiB by volume type."""

    floating_ip: Price | None = None
    """Price of a floating IP; None when unknown."""

    spot_names: SpotNames = SHADOW
    """How spot twins are named."""

    def flavor(self, name: str) -> Price | None:
        """Return the price of a server of flavor `name`, or None when there is none."""
        return self.flavors.get(name)

    def twins(self, name: str) -> tuple[Price | None, Price | None]:
        """Return the spot price and the on-demand price of flavor `name`, whichever of the two it is."""
        on_demand = self.spot_names.on_demand_name(name) or name
        return self.flavor(self.spot_names.spot_name(on_demand)), self.flavor(on_demand)

    def with_flavors(self, prices: Mapping[str, Price]) -> "PriceBook":
        """Return this book with the servers' `prices` in place of its own."""
        return replace(self, flavors={**self.flavors, **prices})

    @staticmethod
    def load(path: Path | str) -> "PriceBook":
        """Return the default book overridden by the YAML or JSON file at `path`.

        Raises `PriceFileError` with all faults of the file together.
        """
        from shadow_gpu_runners import _price_file  # noqa: PLC0415 - parsers only where a file is read

        return _price_file.load(Path(path), default_book())


class PriceFileError(ValueError):
    """A price file cannot be used; the message names every fault with its key."""


_LISTED = dt.date(2026, 11, 30)
_LIST = 'public price list, "from" price'
_FROM_PRICE = {RTX_2000_ADA.model: Decimal("0.29"), RTX_A4500.model: Decimal("0.35")}
# Spot is said to save 30 to 50 %; 40 % is the middle.
SPOT_SHARE = Decimal("0.6")
"""Assumed spot price as a share of the on-demand price, which is not published."""


def default_book() -> PriceBook:
    """Return the public "from" prices per card as spot prices, and assumed on-demand prices."""
    flavors: dict[str, Price] = {}
    for offer in OFFERS:
        name = FlavorName.parse(offer.flavor)
        spot = _FROM_PRICE[offer.gpu.model] * offer.cards
        flavors[str(name.preemptible())] = Price(
            spot, f"{_LIST} x {offer.cards} card(s)", _LISTED, assumed=False
        )
        on_demand = (spot / SPOT_SHARE).quantize(Decimal("0.0001"))
        source = f"assumed: spot price / {SPOT_SHARE}, on-demand prices are not published"
        flavors[offer.flavor] = Price(on_demand, source, _LISTED, assumed=True)
    return PriceBook(flavors=flavors)
