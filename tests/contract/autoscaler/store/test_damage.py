"""Rows that cannot be read: told all at once, left out where that is safe, set aside on request."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from store_contract import EVERYTHING, KEY, VM, Stores, delivery

from shadow_autoscaler.adapters import dynamodb_items as items
from shadow_autoscaler.adapters.state_rows import OUTBOX, Mendable, Row
from shadow_autoscaler.core.faults import FailureKind, PortError
from shadow_autoscaler.core.intents import Alarm
from shadow_autoscaler.core.state import Decision, Note
from shadow_autoscaler.ports import Commit, Store

Damage = Callable[[str, str], None]


@dataclass
class Site:
    """A filled store and a hand that writes into its rows."""

    stores: Stores
    damage: Damage
    """Kind and key of the row whose body becomes unreadable."""

    def open(self) -> Store:
        return self.stores.open()

    def mendable(self) -> Mendable:
        store = self.open()
        assert isinstance(store, Mendable)
        return store


@pytest.fixture(params=["sqlite", "dynamodb"], name="site")
def site_fixture(request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    if request.param == "dynamodb":
        stores: Stores = request.getfixturevalue("tables")
        site = Site(stores, _in_table(stores))
    else:
        from shadow_autoscaler.adapters.sqlite_store import SqliteStore  # noqa: PLC0415

        path = tmp_path / "state.db"
        site = Site(Stores(lambda: SqliteStore(path)), _in_file(path))
    site.stores.leader().commit(Commit(EVERYTHING, 20.0))
    return site


def _in_file(path: Path) -> Damage:
    def damage(kind: str, key: str) -> None:
        with closing(sqlite3.connect(path)) as db, db:
            if kind == OUTBOX:
                done = db.execute("UPDATE outbox SET body = '{' WHERE number = ?", (int(key),))
            else:
                done = db.execute("UPDATE rows SET body = '{' WHERE kind = ? AND key = ?", (kind, key))
            assert done.rowcount == 1

    return damage


def _in_table(stores: Stores) -> Damage:
    def damage(kind: str, key: str) -> None:
        store: Any = stores.open()
        place = items.key_of(Row(kind, key, ""))
        item = store._client.get_item(TableName=store._table, Key=place)["Item"]
        store._client.put_item(TableName=store._table, Item=item | {"body": {"S": "{"}})

    return damage


def refused(site: Site) -> str:
    """Return what the store says instead of a state."""
    with pytest.raises(PortError) as caught:
        site.open().load()
    assert caught.value.failure.kind is FailureKind.CONFIG
    return caught.value.failure.text


def test_every_row_that_cannot_be_read_is_told_at_once_with_place_and_remedy(site: Site) -> None:
    site.damage("vm", VM.name)
    site.damage("job", str(KEY))
    text = refused(site)
    assert f"vm {VM.name}: " in text
    assert f"job {KEY}: " in text
    assert "2 row(s)" in text
    assert "shadow-autoscaler repair" in text
    assert "state.db" in text or "table table-" in text


@pytest.mark.parametrize("row", [("suspect", "server:1"), ("alarm", "pool:t4"), ("quota", "")])
def test_what_is_found_again_by_itself_is_left_out(site: Site, row: tuple[str, str]) -> None:
    site.damage(*row)
    state = site.open().load()
    assert set(state.vms) == {vm.name for vm in EVERYTHING.vms}
    assert ("server:1" in state.suspects, "pool:t4" in state.alarms, state.quota is not None) == (
        row[0] != "suspect",
        row[0] != "alarm",
        row[0] != "quota",
    )


def test_an_intent_that_cannot_be_read_is_no_reason_to_forget_it(site: Site) -> None:
    number = site.open().outbox()[0].number
    site.damage(OUTBOX, str(number))
    with pytest.raises(PortError, match=f"intent {number}: ") as caught:
        site.open().outbox()
    assert caught.value.failure.kind is FailureKind.CONFIG


def test_rows_that_are_set_aside_are_gone_and_all_others_stay(site: Site) -> None:
    number = site.open().outbox()[0].number
    for row in (("vm", VM.name), ("counters", ""), (OUTBOX, str(number))):
        site.damage(*row)
    store = site.mendable()
    found = store.damaged()
    assert sorted((one.row.kind, one.row.key) for one in found) == sorted(
        [("vm", VM.name), ("counters", ""), (OUTBOX, str(number))]
    )
    store.set_aside(found)
    assert not site.mendable().damaged()
    state = site.open().load()
    assert set(state.vms) == {"gpu-t4-x2"}
    assert len(state.jobs) == 2
    assert state.counters.generation not in {"", "abcde"}
    assert number not in [row.number for row in site.open().outbox()]


def test_a_row_too_long_for_a_table_is_packed_or_refused_and_nothing_is_lost(tables: Stores) -> None:
    store = tables.leader()
    added = store.commit(Commit(Decision(intents=(Alarm("a", "größe " * 200_000),)), 20.0))
    assert list(tables.open().outbox()) == list(added)
    random = "".join(chr(0x4E00 + (n * 7919 + n // 13) % 20_000) for n in range(400_000))
    with pytest.raises(PortError, match="a row takes 300,000; nothing was written") as caught:
        store.commit(Commit(Decision(intents=(Alarm("b", random),), notes=(Note("b", "x"),)), 21.0))
    assert caught.value.failure.kind is FailureKind.CONFIG
    assert list(tables.open().outbox()) == list(added)
    assert not store.audit("b")


def test_a_delivery_of_any_size_is_kept_whole(stores: Stores) -> None:
    import random  # noqa: PLC0415

    large = delivery("D-1", random.Random(1).randbytes(1_000_000))
    small = [delivery(f"D-{number}") for number in range(2, 6)]
    assert list(stores.open().accept([large, *small])) == [True] * 5
    assert [row.body for row in stores.open().inbox()] == [large.body, *(row.body for row in small)]
    store = stores.leader()
    store.commit(Commit(Decision(), 20.0, delivery_id="D-1"))
    assert "D-1" not in [row.delivery_id for row in store.inbox()]
    assert list(store.accept([large])) == [False]


@pytest.fixture(name="file")
def file_fixture(tmp_path: Path) -> Path:
    from shadow_autoscaler.adapters.sqlite_store import SqliteStore  # noqa: PLC0415

    path = tmp_path / "state.db"
    Stores(lambda: SqliteStore(path)).leader().commit(Commit(EVERYTHING, 20.0))
    return path


def _mended(path: Path, statement: str, *values: str) -> list[str]:
    """Damage a file, see that the damage is found and told, set it aside; return what was found."""
    from shadow_autoscaler.adapters.sqlite_store import SqliteStore  # noqa: PLC0415

    with closing(sqlite3.connect(path)) as db, db:
        assert db.execute(statement, values).rowcount == 1
    store = SqliteStore(path)
    found = store.damaged()
    assert len(found) == 1
    store.set_aside(found)
    assert not store.damaged()
    assert store.load().counters.generation
    return [str(one) for one in found]


@pytest.mark.parametrize("kind", ["vm", "quota"])
def test_a_row_that_is_no_text_is_a_row_that_cannot_be_read(file: Path, kind: str) -> None:
    one = "(SELECT kind, key FROM rows WHERE kind = ? LIMIT 1)"
    statement = f"UPDATE rows SET body = CAST(x'7bff7d' AS TEXT) WHERE (kind, key) = {one}"  # noqa: S608
    assert _mended(file, statement, kind)[0].startswith(kind)


def test_an_intent_that_is_no_text_can_be_set_aside(file: Path) -> None:
    first = "number = (SELECT min(number) FROM outbox)"
    assert _mended(file, f"UPDATE outbox SET body = CAST(x'ff' AS TEXT) WHERE {first}")  # noqa: S608


def test_rows_of_an_unknown_kind_leave_the_counters_alone(file: Path) -> None:
    assert _mended(file, "INSERT INTO rows VALUES ('zzz', 'k', '{}')") == [
        "zzz k: rows of kind 'zzz' are not known to this version"
    ]


def test_counters_without_a_generation_are_none(file: Path) -> None:
    assert (
        "names of VMs could be used twice"
        in _mended(file, "UPDATE rows SET body = '{}' WHERE kind = 'counters'")[0]
    )
