"""Splits inputs into what is known while the program runs and what only the deployment will know."""

import inspect
from collections.abc import Mapping, Sequence
from typing import cast

import pulumi

from shadow_gpu_runners._validation import Problems, camel
from shadow_gpu_runners.config_toml import UNKNOWN, check_table


def known(value: object) -> object:
    """Return `value` with `UNKNOWN` in place of every output in it, however deep."""
    if isinstance(value, pulumi.Output) or inspect.isawaitable(value):
        return UNKNOWN
    if isinstance(value, Mapping):
        return {key: known(each) for key, each in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [known(each) for each in cast("Sequence[object]", value)]
    return value


def table(value: object) -> Mapping[str, object]:
    """Return the known part of a table of inputs; empty for one that is not known or not given."""
    found = known(value)
    return cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}


def is_complete(value: object) -> bool:
    """Whether nothing in `value` is an output."""
    found = known(value)
    if isinstance(found, Mapping):
        return all(is_complete(each) for each in cast("Mapping[object, object]", found).values())
    if isinstance(found, list):
        return all(is_complete(each) for each in cast("list[object]", found))
    return found is not UNKNOWN


def check_kinds(problems: Problems, args: object, spec: type) -> None:
    """Raise with every key and kind of `args` that is not as the TypedDict `spec` declares it.

    A program without a type checker would meet an exception from deep inside otherwise.
    """
    values = table(args)
    check_table(values, spec, "", problems)
    for name, value in values.items():
        if value is None:
            problems.add_missing(camel(name), "a value", "give one, or leave the input out")
    problems.raise_if_any()
