"""Faults of the autoscaler's section that show only beside the rest of the stack's settings."""

import os
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from setting_kinds import NAMESPACE, REMEDY

if TYPE_CHECKING:
    from autoscaler_settings import Autoscaler
    from settings import Settings

_KEY = f"  {NAMESPACE}:autoscaler"


def find(settings: "Settings") -> Iterator[str]:
    """Yield each fault with its key, its value, what was expected and the remedy."""
    wanted = settings.autoscaler
    if wanted is None:
        if not settings.pools:
            yield f"  {NAMESPACE}:pools: got none, expected at least one pool, or an autoscaler; {REMEDY}"
        return
    yield from _forges(settings, {pool.forge for pool in wanted.pools})
    yield from _pools(wanted)
    yield from _tls(wanted)
    if wanted.floating_ip and not settings.network.external_network:
        yield (
            f"{_KEY}.floatingIp: got true, expected a network to take the address from; set"
            " network.externalNetwork"
        )


def _forges(settings: "Settings", forges: set[str]) -> Iterator[str]:
    for forge in sorted(forges):
        if getattr(settings, forge) is None:
            yield (
                f"{_KEY}.pools: a pool of {forge}, expected {NAMESPACE}:{forge} to be set up; add it, or drop"
                " the pool"
            )
    if "gitlab" in forges and settings.gitlab and not settings.gitlab.project:
        yield (
            f"{_KEY}.pools: a pool for group {settings.gitlab.group!r}, expected gitlab.project: webhooks of"
            " groups need a paid plan; name the project"
        )


def _pools(wanted: "Autoscaler") -> Iterator[str]:
    for name, times in Counter(pool.name for pool in wanted.pools).items():
        if times > 1:
            yield f"{_KEY}.pools: the name {name!r} is used {times} times, expected once; rename a pool"


def _tls(wanted: "Autoscaler") -> Iterator[str]:
    file = wanted.tls.certificate_file
    if wanted.tls.mode == "certificate" and not file:
        yield f"{_KEY}.tls.certificateFile: missing, expected a PEM file for mode 'certificate'; name it"
    elif file and not os.access(file, os.R_OK):
        yield f"{_KEY}.tls.certificateFile: got {file!r}, expected a readable PEM file; correct the path"
