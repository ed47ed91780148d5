"""A store in a folder, for a shared disk, a CI cache or a try on one's own machine."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp

from shadow_perfgate.baseline.store import ExistsError
from shadow_perfgate.errors import StoreError

PART = ".part"
CLAIM = ".claim"
OLD_S = 3600.0
"""Seconds after which a file that is still being written belongs to a writer that was killed."""


class FolderStore:
    """Files below one folder; a reader never sees half of one."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def create(self, files: Mapping[str, bytes]) -> None:
        """Write new files, each at once; raise `ExistsError` for one that is there."""
        for name, content in files.items():
            try:
                self._create(self.root / name, content)
            except FileExistsError:
                raise ExistsError(name) from None
            except OSError as error:
                raise StoreError(f"{self.root / name}: cannot be written ({error.strerror})") from error

    def names(self, prefix: str) -> list[str]:
        """Return the paths below `prefix`, in order."""
        found = (
            Path(folder, name).relative_to(self.root).as_posix()
            for folder, _, names in os.walk(self.root / prefix, onerror=self._not_listed)
            for name in names
            if name.endswith(".json")
        )
        return sorted(found)

    @staticmethod
    def _not_listed(error: OSError) -> None:
        """Raise unless the folder is not there: what cannot be read must not look empty."""
        if not isinstance(error, FileNotFoundError):
            raise StoreError(f"{error.filename}: cannot be listed ({error.strerror})") from error

    def read(self, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield path and content of each file that is still there."""
        for name in names:
            try:
                yield name, (self.root / name).read_bytes()
            except FileNotFoundError:
                continue
            except OSError as error:
                raise StoreError(f"{self.root / name}: cannot be read ({error.strerror})") from error

    def delete(self, names: Iterable[str]) -> None:
        """Remove files."""
        for name in names:
            try:
                (self.root / name).unlink(missing_ok=True)
            except OSError as error:
                raise StoreError(f"{self.root / name}: cannot be removed ({error.strerror})") from error

    @staticmethod
    def _create(path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        number, name = mkstemp(dir=path.parent, suffix=PART)
        try:
            with os.fdopen(number, "wb") as part:
                with suppress(OSError):
                    # Some shared disks know no rights.
                    os.fchmod(number, 0o644)
                part.write(content)
                part.flush()
                os.fsync(number)
            _remove_old(Path(name))
            _named(Path(name), path)
        finally:
            Path(name).unlink(missing_ok=True)


def _named(part: Path, path: Path) -> None:
    """Give a whole file its name, or raise `FileExistsError` when that is taken."""
    try:
        # A link fails when the name is taken, which a rename does not.
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:
        # SMB and many FUSE disks have no links: whoever makes the claim may rename.
        claim = path.with_name(path.name + CLAIM)
        claim.touch(exist_ok=False)
        try:
            if path.exists():
                raise FileExistsError(path) from None
            part.rename(path)
        finally:
            claim.unlink()


def _remove_old(part: Path) -> None:
    """Remove what killed writers left beside `part`; the disk's own clock tells what is old."""
    now = part.stat().st_mtime
    for left in part.parent.iterdir():
        with suppress(OSError):
            if left.name.endswith((PART, CLAIM)) and now - left.stat().st_mtime > OLD_S:
                left.unlink()
