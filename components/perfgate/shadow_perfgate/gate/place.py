"""Where perfgate.toml lies: by its written path, since a link could lead a change's gate elsewhere."""

from pathlib import Path

from shadow_perfgate.baseline.git import absolute, line, tracked, within
from shadow_perfgate.ci import Job
from shadow_perfgate.errors import InputError


def folder_of(path: Path) -> Path:
    """Return the folder of the configuration `path`; paths within a checkout are relative to it."""
    return absolute(path).parent


def repository_of(folder: Path) -> Path:
    """Return the top of the git repository that `folder` lies in, or the folder itself."""
    return Path(line(folder, "rev-parse", "--show-toplevel") or folder)


def ensure_plain(path: Path, repository: Path, job: Job) -> None:
    """Raise `InputError` when a folder of the configuration is a link or, for a request, a submodule.

    The merge-base has nothing at that place, so that nothing would be compared.
    """
    for link in filter(Path.is_symlink, absolute(path).parents):
        if within(repository, link) or tracked(link.parent, link.name):
            raise InputError(f"{path}: its folder {link.name} is a link; name the folder that it leads to")
    outer = line(repository, "rev-parse", "--show-superproject-working-tree") if job.request else ""
    if outer:
        raise InputError(f"{path}: lies in a submodule of {outer}; keep it in the repository of the change")
