"""The stores that keep the contract, each opened as often as a test wants."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from store_contract import Stores

from shadow_autoscaler.adapters.sqlite_store import SqliteStore
from shadow_autoscaler.testing.store import FakeStore, StoredData


@pytest.fixture(params=["memory", "sqlite"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stores]:
    """An empty store of each kind."""
    made = _memory() if request.param == "memory" else Stores(lambda: SqliteStore(tmp_path / "state.db"))
    yield made
    for store in made.opened:
        if isinstance(store, SqliteStore):
            store.close()


def _memory() -> Stores:
    data = StoredData()
    return Stores(lambda: FakeStore(data))
