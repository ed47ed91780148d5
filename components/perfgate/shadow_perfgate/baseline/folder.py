"""A store in a folder, for a shared disk, a CI cache or a try on one's own machine."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile

from shadow_perfgate.baseline.store import ExistsError
from shadow_perfgate.errors import StoreError


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
        found = (self.root / prefix).rglob("*.json")
        return sorted(path.relative_to(self.root).as_posix() for path in found)

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
        with NamedTemporaryFile(dir=path.parent, suffix=".part") as part:
            part.write(content)
            part.flush()
            os.fsync(part.fileno())
            # A link fails when the name is taken, which a rename does not.
            os.link(part.name, path)
        path.chmod(0o644)
