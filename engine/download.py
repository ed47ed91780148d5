"""Fetches the official releases where they can be reached, checked against the published SHA-256 lists."""

import hashlib
import os
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

from engine.cache import appearing
from engine.errors import EngineError
from engine.parts import Part, platform_names

DEFAULT_SITE = "https://get.pulumi.com"
CONNECT_TIMEOUT_S = 5.0
DOWNLOAD_TIMEOUT_S = 60.0


class Unreachable(Exception):  # noqa: N818 - a state of the network, caught where there is another way
    """The address did not answer, or has no such file."""


def site() -> str:
    """Return the download site ($SHADOW_ENGINE_SITE for a mirror of get.pulumi.com)."""
    return (os.environ.get("SHADOW_ENGINE_SITE") or DEFAULT_SITE).rstrip("/")


def reachable() -> bool:
    """Tell whether the download site answers; asked once, so that an offline machine loses 5 s at most."""
    request = urllib.request.Request(site() + "/", method="HEAD")  # noqa: S310 - the user's own site, or https
    try:
        with urllib.request.urlopen(request, timeout=CONNECT_TIMEOUT_S):  # noqa: S310
            return True
    except urllib.error.HTTPError:
        return True
    except (OSError, ValueError):
        return False


def fetch(address: str, timeout_s: float = DOWNLOAD_TIMEOUT_S) -> BinaryIO:
    """Return a temporary file with the content of an address, at its start; the caller closes it."""
    target = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 - handed to the caller
    try:
        with urllib.request.urlopen(address, timeout=timeout_s) as answer:  # noqa: S310
            while block := answer.read(1 << 20):
                target.write(block)
    except (OSError, ValueError) as error:
        target.close()
        raise Unreachable(f"{address}: {error}") from error
    target.seek(0)
    return target


def sha256_of(file: BinaryIO) -> str:
    """Return the SHA-256 of a file in hexadecimal; the file is at its start afterwards."""
    result = hashlib.sha256()
    while block := file.read(1 << 20):
        result.update(block)
    file.seek(0)
    return result.hexdigest()


def download(part: Part, folder: Path, say: Callable[[str], None]) -> bool:
    """Install a part from its official archive; return False when the archive cannot be had."""
    if part.archive is None:
        return False
    system, arch = platform_names()
    address = site() + part.archive.format(version=part.version, os=system, arch=arch)
    try:
        archive = fetch(address)
    except Unreachable as error:
        say(f"{part.title}: no official download ({error})")
        return False
    with archive:
        _verify(part, address, archive, say)
        _install(part, address, archive, folder)
    return True


def _verify(part: Part, address: str, archive: BinaryIO, say: Callable[[str], None]) -> None:
    """Compare with the release's checksum list, which is served by another host than the archive."""
    actual = sha256_of(archive)
    expected = _published(part, Path(address).name)
    if expected is None:
        say(f"{part.title}: no checksum list to be had; the download is vouched for by TLS only")
    elif expected != actual:
        raise EngineError(
            f"{address} has SHA-256 {actual}; the release's list says {expected}",
            "do not use this download; try again later, or build from source with SHADOW_ENGINE_SOURCE=build",
        )


def _published(part: Part, name: str) -> str | None:
    """Return the SHA-256 that the release publishes for a file, or None when there is no list."""
    if part.checksums is None:
        return None
    address = os.environ.get("SHADOW_ENGINE_CHECKSUMS") or part.checksums
    try:
        with fetch(address, timeout_s=CONNECT_TIMEOUT_S) as content:
            lines = content.read().decode(errors="replace").splitlines()
    except Unreachable:
        return None
    pairs = (line.split() for line in lines)
    return next((pair[0] for pair in pairs if len(pair) == 2 and pair[1].lstrip("*") == name), None)


def _install(part: Part, address: str, archive: BinaryIO, folder: Path) -> None:
    """Take the part's executables out of the archive; the folder appears only when all are there."""
    wanted = set(part.executables)
    with appearing(folder) as place:
        try:
            with tarfile.open(fileobj=archive, mode="r:gz") as content:
                for member in content:
                    name = Path(member.name).name
                    if member.isfile() and name in wanted and (source := content.extractfile(member)):
                        (place / name).write_bytes(source.read())
                        (place / name).chmod(0o755)
                        wanted.discard(name)
        except (tarfile.TarError, EOFError, OSError) as error:
            raise EngineError(
                f"{address} is not a complete archive: {error}", "run scripts/engine again"
            ) from error
        if wanted:
            raise EngineError(
                f"{address} lacks {', '.join(sorted(wanted))}",
                "build from source with SHADOW_ENGINE_SOURCE=build",
            )
