"""Where perfgate.toml lies: by its written path, since a link could lead a change's gate elsewhere."""

from dataclasses import replace
from pathlib import Path

from shadow_perfgate.baseline.git import absolute, line, tracked, within
from shadow_perfgate.baseline.store import Store, open_store
from shadow_perfgate.ci import Job
from shadow_perfgate.config import Config
from shadow_perfgate.errors import InputError


def folder_of(path: Path) -> Path:
    """Return the folder of the configuration `path`; paths within a checkout are relative to it."""
    return absolute(path).parent


def repository_of(folder: Path) -> Path:
    """Return the top of the git repository that `folder` lies in, or the folder itself."""
    return Path(line(folder, "rev-parse", "--show-toplevel") or folder)


def store_of(config: Config) -> Store:
    """Return the store that the configuration names; a folder's path is relative to it."""
    return open_store(config.store, config.store_options, folder_of(config.path))


def without_own_baseline(config: Config, repository: Path) -> tuple[Config, tuple[str, ...]]:
    """Leave out the stored baseline, with a notice, where a change could bring its own with its files."""
    scheme, _, rest = config.store.partition(":")
    place = folder_of(config.path) / rest
    if scheme != "folder" or not tracked(repository, str(place), str(place.resolve())):
        return config, ()
    said = (
        f"the store {config.store} has files under version control, so that a change could bring a baseline "
        "of its own: not used; keep it out of the repository, or on a branch (git:BRANCH)"
    )
    return replace(config, stored_runs=0), (said,)


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
