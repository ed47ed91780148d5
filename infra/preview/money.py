"""The cost part of the comment: per month, before and after, as bought, all spot and all on demand."""

from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path

from preview.digest import Preview
from preview.errors import InputError
from preview.markdown import code, details, plain, table
from shadow_gpu_runners.cost import Amount, Estimate, Line, estimate_preview
from shadow_gpu_runners.prices import Price, PriceBook, PriceFileError, default_book

_ROWS = 40
_NAMES = 6
MINUS = "\u2212"
"""The sign that is as wide as a plus."""


def estimate(preview: Preview, prices: Path | None) -> Estimate:
    """The cost of the stack before and after the change."""
    return estimate_preview(preview.digest, _book(prices))


def _book(prices: Path | None) -> PriceBook:
    try:
        return default_book() if prices is None else PriceBook.load(prices)
    except (PriceFileError, OSError) as error:
        raise InputError(f"--prices {prices}: {error}") from None


def headline(cost: Estimate) -> str:
    """One sentence on the money."""
    before, after = cost.before.actual or Decimal(0), cost.after.actual or Decimal(0)
    if not cost.lines:
        return "**Cost**: nothing in this stack is paid for by time."
    unpriced = ", ".join(_unpriced(cost))
    if unpriced and not before and not after:
        return f"**Cost**: not known, no price for {unpriced}; give a price book."
    rest = f" Without a price: {unpriced}." if unpriced else ""
    if before == after:
        return f"**Cost**: unchanged, EUR {_eur(after)} per month.{rest}"
    return (
        f"**Cost**: EUR {_eur(before)} → **EUR {_eur(after)}** per month ({_signed(after - before)}).{rest}"
    )


def section(cost: Estimate) -> str:
    """The sums with their basis; nothing where the change costs nothing."""
    if not cost.lines or cost.before == cost.after:
        return ""
    on_demand = ", assumed" if cost.assumed else ""
    rows = [
        _row("as bought" + _mark(cost), cost.before.actual, cost.after.actual),
        _row("if all were spot", cost.before.spot, cost.after.spot),
        _row("if all were on demand" + on_demand, cost.before.on_demand, cost.after.on_demand),
    ]
    return "\n\n".join(
        [table(["EUR per month", "before", "after", "change"], rows, numbers=3), *_basis(cost)]
    )


def _mark(cost: Estimate) -> str:
    used = [line.price for line in cost.lines if line.after is not None]
    return ", partly assumed" if any(price.assumed for price in used if price) else ""


def _row(name: str, before: Decimal | None, after: Decimal | None) -> list[str]:
    change = _signed((after or Decimal(0)) - (before or Decimal(0)))
    return [name, _eur(before), _eur(after), change]


def _basis(cost: Estimate) -> list[str]:
    used = {line.price for line in cost.lines if line.price is not None}
    known = sorted({_source(price) for price in used if not price.assumed})
    guessed = sorted({plain(text.removeprefix("assumed: ")) for text in cost.assumed})
    said = [f"Prices: {'; '.join(known)}"] if known else []
    said += [f"Assumed: {text}" for text in guessed]
    said += [plain(note[:1].upper() + note[1:]) for note in cost.notes]
    return ["<sub>" + "<br>".join(f"{text.rstrip('.')}." for text in said) + "</sub>"] if said else []


def _unpriced(cost: Estimate) -> list[str]:
    total: Counter[str] = Counter()
    for line in cost.lines:
        if line.price is None and line.after is not None:
            what = f"{line.item.kind} {line.item.sort}".strip()
            total[f"GiB of {what}" if line.item.kind == "volume" else what] += line.item.quantity
    return [f"{number} {plain(what)}" for what, number in sorted(total.items())]


def _source(price: Price) -> str:
    return f"{plain(price.source)} ({price.as_of.isoformat()})"


def breakdown(cost: Estimate) -> str:
    """What each item costs, folded away."""
    if not cost.lines:
        return ""
    alike: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for line in sorted(cost.lines, key=lambda line: (line.before == line.after, line.item.name)):
        alike[_what(line)].append(code(line.item.name))
    rows = [[_names(names), *what] for what, names in alike.items()]
    more = f"\n\n... and {len(rows) - _ROWS} more." if len(rows) > _ROWS else ""
    body = table(["item", "what, each", "market", "before", "after"], rows[:_ROWS], numbers=2) + more
    basis = "".join(f"\n\n{text}" for text in _basis(cost)) if cost.before == cost.after else ""
    return details(f"Cost by item ({len(cost.lines)})", body + basis)


def _names(names: list[str]) -> str:
    rest = len(names) - _NAMES
    return ", ".join(names[:_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def _what(line: Line) -> tuple[str, ...]:
    what = line.item.sort if line.item.kind == "server" else f"{line.item.kind} {line.item.sort}".strip()
    if line.item.kind == "volume":
        what = f"{line.item.quantity} GiB {what}"
    mark = " (assumed)" if line.price is not None and line.price.assumed else ""
    return plain(what), line.market, _amount(line.before), _amount(line.after) + mark


def _amount(amount: Amount | None) -> str:
    return "\u2013" if amount is None else _eur(amount.actual)


def _eur(value: Decimal | None) -> str:
    return "no price" if value is None else f"{value:,.2f}".replace(",", "\u202f")


def _signed(value: Decimal) -> str:
    return "±0" if not value else f"{'+' if value > 0 else MINUS}{_eur(abs(value))}"
