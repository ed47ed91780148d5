"""What a stack costs per month before and after a preview, as spot and on demand, in EUR.

`estimate_preview(digest)` answers for the JSON of `pulumi preview --json --show-sames`. Billing is per minute
and goes on while a server is shut off, paused or suspended: only shelving or deleting ends it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Literal

from shadow_gpu_runners import preview
from shadow_gpu_runners.preview import Resource
from shadow_gpu_runners.prices import HOURS_PER_MONTH, Price, PriceBook, default_book
from shadow_gpu_runners.urns import name_of

Kind = Literal["server", "volume", "floating IP"]
"""What is paid for."""

_INSTANCE = "openstack:compute/instance:Instance"
_VOLUME = "openstack:blockstorage/volume:Volume"
_ADDRESS = "openstack:networking/floatingIp:FloatingIp"
_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Item:
    """Something that is paid for by time."""

    urn: str
    """Resource that it belongs to."""

    kind: Kind
    """What it is."""

    sort: str
    """Flavor or volume type; empty when the preview does not know it."""

    quantity: int = 1
    """GiB of a volume, else 1."""

    running: bool = True
    """False for a shelved server, which is not billed. A shut-off one is."""

    @property
    def name(self) -> str:
        """Logical name of the resource."""
        return name_of(self.urn)


@dataclass(frozen=True, slots=True)
class Amount:
    """EUR per month. None stands for "no price", never for free."""

    actual: Decimal | None
    """As it is bought."""

    spot: Decimal | None
    """If every server were spot."""

    on_demand: Decimal | None
    """If every server were on demand."""


@dataclass(frozen=True, slots=True)
class Line:
    """What one item costs before and after."""

    item: Item
    """The item, as it will be, or as it was when it goes."""

    before: Amount | None
    """Cost until now; None when it is new."""

    after: Amount | None
    """Cost from now on; None when it goes."""

    market: str
    """`spot`, `on demand`, or empty for what has no market."""

    price: Price | None
    """Price that was used."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Cost of a stack per month before and after a change."""

    lines: tuple[Line, ...]
    """One for each item."""

    before: Amount
    """Sum until now of what has a price."""

    after: Amount
    """Sum from now on of what has a price."""

    unpriced: tuple[str, ...]
    """What has no price and is not in the sums, in words."""

    assumed: tuple[str, ...]
    """Sources of the assumed prices in the sums."""

    notes: tuple[str, ...]
    """What else a reader must know."""

    @property
    def change(self) -> Decimal:
        """EUR per month more (or less) than before."""
        return (self.after.actual or Decimal(0)) - (self.before.actual or Decimal(0))

    @property
    def saving(self) -> Decimal:
        """EUR per month that spot saves against on demand, after the change, where both prices are known."""
        amounts = [line.after for line in self.lines if line.after is not None]
        return sum(
            (a.on_demand - a.actual for a in amounts if a.on_demand is not None and a.actual is not None),
            Decimal(0),
        )


def estimate_preview(digest: str | Mapping[str, Any], book: PriceBook | None = None) -> Estimate:
    """Return the cost before and after the change that a preview's JSON shows.

    Raises `preview.PreviewError` when `digest` is no preview.
    """
    plan = preview.read(digest)
    found = estimate(items(plan.before()), items(plan.after()), book)
    if not plan.unchanged_left_out:
        return found
    note = (
        f"{plan.unchanged_left_out} unchanged resource(s) are not in the preview and not in the sums; "
        "run `pulumi preview --json --show-sames`"
    )
    return replace(found, notes=(*found.notes, note))


def items(resources: Iterable[Resource]) -> list[Item]:
    """Return what is paid for among `resources`; boot volumes of servers included."""
    return [item for resource in resources for item in _items(resource)]


def _items(resource: Resource) -> list[Item]:
    if resource.type == _INSTANCE:
        running = resource.get("powerState") != "shelved_offloaded"
        server = Item(resource.urn, "server", resource.text("flavorName"), running=running)
        volumes = [Item(resource.urn, "volume", v.volume_type, v.size_gib) for v in resource.new_volumes()]
        return [server, *volumes]
    if resource.type == _VOLUME:
        return [Item(resource.urn, "volume", resource.text("volumeType"), resource.whole("size"))]
    return [Item(resource.urn, "floating IP", "")] if resource.type == _ADDRESS else []


def estimate(before: Iterable[Item], after: Iterable[Item], book: PriceBook | None = None) -> Estimate:
    """Return the cost per month of the items `before` and `after` a change, by the price `book`."""
    prices = book or default_book()
    old, new = _keyed(before), _keyed(after)
    lines = [_line(item, old.get(key), new.get(key), prices) for key, item in {**old, **new}.items()]
    return Estimate(
        lines=tuple(lines),
        before=_total(line.before for line in lines),
        after=_total(line.after for line in lines),
        unpriced=tuple(_unpriced(lines)),
        assumed=tuple(_assumed([*old.values(), *new.values()], prices)),
        notes=tuple(_notes(lines)),
    )


def _keyed(found: Iterable[Item]) -> dict[tuple[str, str, int], Item]:
    keyed: dict[tuple[str, str, int], Item] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for item in found:
        seen[item.urn, item.kind] += 1
        keyed[item.urn, item.kind, seen[item.urn, item.kind]] = item
    return keyed


def _line(shown: Item, old: Item | None, new: Item | None, book: PriceBook) -> Line:
    return Line(
        item=shown,
        before=None if old is None else _amount(old, book),
        after=None if new is None else _amount(new, book),
        market=_market(shown, book),
        price=_price(shown, book),
    )


def _market(item: Item, book: PriceBook) -> str:
    if item.kind != "server" or not item.sort:
        return ""
    return "spot" if book.spot_names.is_spot(item.sort) else "on demand"


def _price(item: Item, book: PriceBook) -> Price | None:
    if item.kind == "server":
        return book.flavor(item.sort)
    return book.volumes.get(item.sort) if item.kind == "volume" else book.floating_ip


def _amount(item: Item, book: PriceBook) -> Amount:
    if not item.running:
        return Amount(Decimal(0), Decimal(0), Decimal(0))
    actual = _month(item, _price(item, book))
    if item.kind != "server":
        return Amount(actual, actual, actual)
    spot, on_demand = book.twins(item.sort)
    return Amount(actual, _month(item, spot), _month(item, on_demand))


def _month(item: Item, price: Price | None) -> Decimal | None:
    if price is None:
        return None
    exact = price.eur_per_hour * item.quantity * HOURS_PER_MONTH
    return exact.quantize(_CENT, ROUND_HALF_UP)


def _total(amounts: Iterable[Amount | None]) -> Amount:
    known = [amount for amount in amounts if amount is not None]
    return Amount(
        actual=sum((a.actual for a in known if a.actual is not None), Decimal(0)),
        spot=sum((a.spot for a in known if a.spot is not None), Decimal(0)),
        on_demand=sum((a.on_demand for a in known if a.on_demand is not None), Decimal(0)),
    )


def _unpriced(lines: Iterable[Line]) -> Iterable[str]:
    for line in lines:
        amount = line.after or line.before
        if amount is None or None not in (amount.actual, amount.spot, amount.on_demand):
            continue
        missing = "no price" if amount.actual is None else f"no price of its {_other(line)} twin"
        yield f"{line.item.name}: {_what(line.item)}: {missing}"


def _other(line: Line) -> str:
    return "on-demand" if line.market == "spot" else "spot"


def _what(item: Item) -> str:
    if item.kind == "volume":
        return f"{item.quantity} GiB of volume type {item.sort or '(default)'}"
    if item.kind == "server":
        return f"flavor {item.sort}" if item.sort else "a server whose flavor is not known yet"
    return item.kind


def _assumed(found: Iterable[Item], book: PriceBook) -> list[str]:
    prices = [_price(item, book) for item in found]
    prices += [twin for item in found if item.kind == "server" for twin in book.twins(item.sort)]
    sources = (f"{p.source} ({p.as_of.isoformat()})" for p in prices if p is not None and p.assumed)
    return list(dict.fromkeys(sources))


def _notes(lines: Iterable[Line]) -> Iterable[str]:
    kinds = {line.item.kind for line in lines}
    if "server" in kinds:
        yield (
            f"billed per minute, a month is {HOURS_PER_MONTH} hours; a server that is shut off, paused or "
            "suspended is billed on, only shelving or deleting ends it"
        )
