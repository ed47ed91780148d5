"""The port of a baseline store: files that are created once and never changed."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from shadow_perfgate.errors import InputError


class ExistsError(Exception):
    """A file of that name is there already; nothing was written."""


class Store(Protocol):
    """Keeps files by path. Raises `StoreError` when it cannot be reached or refuses."""

    def create(self, files: Mapping[str, bytes]) -> None:
        """Write new files, or raise `ExistsError`; never change an existing one."""
        ...

    def names(self, prefix: str) -> list[str]:
        """Return the paths below `prefix` (which ends with `/`), in order."""
        ...

    def read(self, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield path and content of each file; those that are gone are left out."""
        ...

    def delete(self, names: Iterable[str]) -> None:
        """Remove files; those that are gone are no fault."""
        ...


def open_store(url: str, options: Mapping[str, str], root: Path) -> Store:
    """Return the store at `url`: `folder:PATH` (relative to `root`), `git:BRANCH`, or `s3://BUCKET/PREFIX`."""
    scheme, _, rest = url.partition(":")
    if scheme == "folder" and rest:
        from shadow_perfgate.baseline.folder import FolderStore  # noqa: PLC0415 - only what is used

        return FolderStore(root / rest)
    if scheme == "git" and rest:
        from shadow_perfgate.baseline.git_branch import GitBranchStore  # noqa: PLC0415
        from shadow_perfgate.baseline.split import SplitStore  # noqa: PLC0415

        return SplitStore(GitBranchStore(root, rest), GitBranchStore(root, f"{rest}-attempts"))
    if scheme == "s3" and rest.startswith("//") and rest.strip("/"):
        from shadow_perfgate.baseline.s3 import S3Store  # noqa: PLC0415

        bucket, _, prefix = rest.strip("/").partition("/")
        return S3Store.connect(bucket, prefix, options)
    raise InputError(
        f"store.url: got {url!r}, expected folder:PATH, git:BRANCH or s3://BUCKET/PREFIX; correct it"
    )
