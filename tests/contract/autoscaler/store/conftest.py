"""The stores that keep the contract, each opened as often as a test wants."""

import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from store_contract import Stores

from shadow_autoscaler.adapters.dynamodb_store import DynamoStore, create_table
from shadow_autoscaler.adapters.sqlite_store import SqliteStore
from shadow_autoscaler.testing.store import FakeStore, StoredData


@pytest.fixture(params=["memory", "sqlite", "dynamodb"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stores]:
    """An empty store of each kind."""
    match request.param:
        case "memory":
            made = _memory()
        case "sqlite":
            made = Stores(lambda: SqliteStore(tmp_path / "state.db"))
        case _:
            made = request.getfixturevalue("tables")
    yield made
    for store in made.opened:
        if isinstance(store, SqliteStore):
            store.close()


@pytest.fixture
def tables(aws: Callable[[str], Any]) -> Stores:
    """A table of this test's own."""
    client, name = aws("dynamodb"), f"table-{uuid.uuid4().hex[:12]}"
    create_table(client, name)
    return Stores(lambda: DynamoStore(client, name))


def _memory() -> Stores:
    data = StoredData()
    return Stores(lambda: FakeStore(data))
