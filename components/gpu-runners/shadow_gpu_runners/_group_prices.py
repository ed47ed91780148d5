"""What an instance group costs, as the texts of its outputs."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from shadow_gpu_runners.prices import HOURS_PER_MONTH, Price, PriceBook, default_book
from shadow_gpu_runners.spot import SpotNames

if TYPE_CHECKING:
    from shadow_gpu_runners.instance_group import InstanceGroupArgs

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Money:
    """Prices of a group as texts."""

    hourly: str
    monthly_spot: str
    monthly_on_demand: str
    note: str


def of(flavors: Sequence[str], args: "InstanceGroupArgs", twins: SpotNames) -> Money:
    """Return what servers of `flavors` cost, with the prices in `args` over the price book's."""
    book = replace(default_book(), spot_names=twins).with_flavors(_given(args))
    actual = [book.flavor(flavor) for flavor in flavors]
    pairs = [book.twins(flavor) for flavor in flavors]
    return Money(
        hourly=_text(_sum(actual)),
        monthly_spot=_month(_sum([spot for spot, _ in pairs])),
        monthly_on_demand=_month(_sum([on_demand for _, on_demand in pairs])),
        note=_note(book, args["flavor"]),
    )


def _given(args: "InstanceGroupArgs") -> dict[str, Price]:
    today = dt.datetime.now(tz=dt.UTC).date()
    prices = args.get("prices", {}).items()
    return {name: Price(Decimal(text), "input prices", today, assumed=False) for name, text in prices}


def _sum(prices: Sequence[Price | None]) -> Decimal | None:
    known = [price.eur_per_hour for price in prices if price is not None]
    return sum(known, Decimal(0)) if len(known) == len(prices) else None


def _month(hourly: Decimal | None) -> str:
    return UNKNOWN if hourly is None else _text((hourly * HOURS_PER_MONTH).quantize(Decimal("0.01")))


def _text(amount: Decimal | None) -> str:
    return UNKNOWN if amount is None else f"{amount:f}"


def _note(book: PriceBook, flavor: str) -> str:
    spot, on_demand = book.twins(flavor)
    parts = [_origin("spot", spot), _origin("on demand", on_demand)]
    return "; ".join([*parts, "servers only: prices of volumes and addresses are not published"])


def _origin(market: str, price: Price | None) -> str:
    if price is None:
        return f"{market}: no price"
    return f"{market}: {price.source} ({price.as_of.isoformat()})"
