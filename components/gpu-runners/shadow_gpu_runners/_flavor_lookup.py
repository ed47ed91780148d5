"""Looks flavors up as a tenant can: by exact name, since the provider has no function that lists them."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, cast

import pulumi

from shadow_gpu_runners import catalog
from shadow_gpu_runners._validation import Problems

_TOKEN = "openstack:compute/getFlavor:getFlavor"  # noqa: S105
# The provider's words for an empty answer; anything else is a failure of the cloud or of access to it.
_ABSENT = ("returned no results", "Could not find", "No suitable flavor")

# Untyped in Pulumi. The output form would report the provider's bare error before ours.
_invoke_async: Any = cast("Any", pulumi.runtime).invoke_async


async def find(
    parent: pulumi.Resource,
    names: Sequence[str],
    paths: Sequence[str],
    where: str,
    available: list[str] | None,
) -> dict[str, str]:
    """Return the IDs of the flavors `names` by name.

    Raises `InvalidInputsError` that names every one that does not exist, each under its input path out of
    `paths`, with near matches that do exist.
    """
    found = await asyncio.gather(*(_flavor_id(parent, name) for name in names))
    missing = [(path, name) for path, name, known in zip(paths, names, found, strict=True) if known is None]
    if missing:
        await _raise_missing(parent, missing, where, available)
    return {name: known or "" for name, known in zip(names, found, strict=True)}


async def _flavor_id(parent: pulumi.Resource, name: str) -> str | None:
    try:
        answer: dict[str, str] | None = await _invoke_async(
            _TOKEN, {"name": name}, pulumi.InvokeOptions(parent=parent)
        )
    except Exception as error:
        if any(word in str(error) for word in _ABSENT):
            return None
        raise
    return str((answer or {}).get("id", ""))


async def _raise_missing(
    parent: pulumi.Resource, missing: list[tuple[str, str]], where: str, available: list[str] | None
) -> None:
    problems = Problems(where)
    for path, name in missing:
        near = catalog.near_matches(name, available)
        existing = near if available else await _existing(parent, near)
        problems.add(path, name, "a flavor of this cloud", _remedy(existing))
    problems.raise_if_any()


async def _existing(parent: pulumi.Resource, names: Iterable[str]) -> list[str]:
    candidates = list(names)
    found = await asyncio.gather(*(_flavor_id(parent, name) for name in candidates))
    return [name for name, known in zip(candidates, found, strict=True) if known is not None]


def _remedy(near: list[str]) -> str:
    listing = "see `openstack flavor list`"
    if not near:
        return f"nothing like it was found; {listing}"
    return f"near matches that exist: {', '.join(near)}; {listing}"
