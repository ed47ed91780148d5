"""Two stores that answer as one, so that each can have writers of its own."""

from collections.abc import Iterable, Iterator, Mapping

from shadow_perfgate.baseline.store import Store


class SplitStore:
    """Keeps what merge requests measure apart from what main measured: their jobs may write only there."""

    def __init__(self, main: Store, requests: Store) -> None:
        self.main = main
        self.requests = requests

    def create(self, files: Mapping[str, bytes]) -> None:
        """Write new files where they belong; raise `ExistsError` for one that is there."""
        for store, names in self._sides(files):
            store.create({name: files[name] for name in names})

    def names(self, prefix: str) -> list[str]:
        """Return the paths below `prefix`, in order."""
        if prefix.count("/") > 1:
            return (self.requests if _is_request(prefix) else self.main).names(prefix)
        return sorted({*self.main.names(prefix), *self.requests.names(prefix)})

    def read(self, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield path and content of each file that is still there, main's first."""
        for store, wanted in self._sides(names):
            yield from store.read(wanted)

    def delete(self, names: Iterable[str]) -> None:
        """Remove files."""
        for store, gone in self._sides(names):
            store.delete(gone)

    def _sides(self, names: Iterable[str]) -> Iterator[tuple[Store, list[str]]]:
        known = list(names)
        for store, asked in ((self.main, False), (self.requests, True)):
            mine = [name for name in known if _is_request(name) == asked]
            if mine:
                yield store, mine


def _is_request(name: str) -> bool:
    """Tell whether a path is below `<project>/mr%2F<number>/`."""
    return name.partition("/")[2].startswith("mr%2F")
