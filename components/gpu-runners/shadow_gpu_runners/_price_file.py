"""Reads a price file (YAML or JSON) and reports all its faults together."""

import datetime as dt
import reprlib
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, cast

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from shadow_gpu_runners.prices import HIGHEST_EUR_PER_HOUR, Price, PriceBook, PriceFileError

_STRICT = ConfigDict(extra="forbid", frozen=True)

_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxstring = 1, 80


def _exact(value: object) -> object:
    # An unquoted 0.35 arrives as a binary float; its shortest text is what the user wrote.
    return str(value) if isinstance(value, float) else value


Money = Annotated[Decimal, BeforeValidator(_exact), Field(ge=0, le=HIGHEST_EUR_PER_HOUR, allow_inf_nan=False)]


class _Entry(BaseModel):
    model_config = _STRICT
    eur_per_hour: Money
    source: str | None = None
    as_of: dt.date | None = None
    assumed: bool = False


def _entry(value: object) -> object:
    # Written shortly, an entry is just its price.
    return {"eur_per_hour": value} if isinstance(value, (str, int, float)) else value


Entry = Annotated[_Entry, BeforeValidator(_entry)]


class _File(BaseModel):
    model_config = _STRICT
    source: Annotated[str, Field(min_length=1)]
    as_of: dt.date
    flavors: dict[str, Entry] = {}
    volumes: dict[str, Entry] = {}
    floating_ip: Entry | None = None


class _Loader(yaml.SafeLoader):
    """Refuses a key that is given twice: YAML would take the last, and a price would be ignored silently.

    Aliases are refused, too: a few lines of them stand for billions of entries.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Return the next node; raises `ConstructorError` for an alias."""
        if self.check_event(yaml.AliasEvent):
            alias = cast("Any", self).peek_event()
            problem = f"alias *{alias.anchor}; write the value out"
            raise yaml.constructor.ConstructorError(None, None, problem, alias.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return the mapping of `node`; raises `ConstructorError`."""
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        if twice:
            problem = f"given twice: {', '.join(twice)}; keep one"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        return super().construct_mapping(node, deep)


def load(path: Path, base: PriceBook) -> PriceBook:
    """Return `base` overridden by the file at `path`; raises `PriceFileError` with every fault."""
    try:
        raw: Any = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506 - a safe loader
    except OSError as error:
        raise PriceFileError(f"{path}: cannot be read: {error.strerror}; check the path") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise PriceFileError(
            f"{path}: not YAML or JSON: {error}; correct it, see docs/how-to/prices.md"
        ) from None
    try:
        file = _File.model_validate({} if raw is None else raw)
    except ValidationError as error:
        raise PriceFileError(_explain(path, error)) from None
    return _merged(base, file)


def _explain(path: Path, error: ValidationError) -> str:
    faults = [
        f"  {path}:{'.'.join(str(part) for part in fault['loc']) or '(whole file)'}: {fault['msg']}"
        f"{_shown(fault['type'], fault['input'])}"
        for fault in error.errors()
    ]
    head = f"{path} has {len(faults)} fault(s); see docs/how-to/prices.md"
    return "\n".join([head, *faults])


def _shown(kind: str, value: object) -> str:
    # Under a key that is not ours there could be anything, even a token.
    hidden = kind in {"missing", "extra_forbidden"} or isinstance(value, dict)
    return "" if hidden else f", got {_SHORT.repr(value)}"


def _merged(base: PriceBook, file: _File) -> PriceBook:
    def price(entry: _Entry) -> Price:
        return Price(
            entry.eur_per_hour, entry.source or file.source, entry.as_of or file.as_of, entry.assumed
        )

    def prices(entries: Mapping[str, _Entry]) -> dict[str, Price]:
        return {name: price(entry) for name, entry in entries.items()}

    return replace(
        base,
        flavors={**base.flavors, **prices(file.flavors)},
        volumes={**base.volumes, **prices(file.volumes)},
        floating_ip=price(file.floating_ip) if file.floating_ip else base.floating_ip,
    )
