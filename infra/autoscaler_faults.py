"""Faults of the autoscaler's section that show only beside the rest of the stack's settings."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import autoscaler_options
from cryptography import x509

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
    yield from autoscaler_options.find(wanted)
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
    elif file and wanted.tls.mode != "certificate":
        expected = f"none for mode {wanted.tls.mode!r}; leave it out, or set mode to 'certificate'"
        yield f"{_KEY}.tls.certificateFile: got {file!r}, expected {expected}"
    elif file and (expected := _expected_instead(Path(file))):
        yield f"{_KEY}.tls.certificateFile: got {file!r}, expected {expected}"


def _expected_instead(file: Path) -> str:
    """Return what a chain of certificates should be where it is none, and the remedy."""
    if not file.is_file() or not os.access(file, os.R_OK):
        return "a readable file; correct the path"
    pem = file.read_bytes()
    if b"PRIVATE KEY" in pem:
        return "no private key in it; take that out and set the secret autoscalerTlsKey"
    return "" if _is_chain(pem) else "whole certificates in PEM form, its own first; mend the file"


def _is_chain(pem: bytes) -> bool:
    try:
        # A last one that is cut off is passed over.
        whole = len(x509.load_pem_x509_certificates(pem)) == pem.count(b"-----BEGIN CERTIFICATE-----")
        return whole and bool(pem.decode())
    except ValueError:
        return False
