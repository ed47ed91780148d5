"""SQLite storage: rows as dictionaries; write-ahead mode, so a kill loses nothing that was committed."""

import json
import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from localcloud.gitlab.schema import SCHEMA, TABLES

Row = dict[str, Any]
CONVERTERS: dict[str, Callable[[bytes], Any]] = {"JSON": json.loads, "BOOL": b"1".__eq__}


class Store:
    """One connection for the event loop's thread; statements outside `transaction` commit alone."""

    def __init__(self, path: Path) -> None:
        for name, convert in CONVERTERS.items():
            sqlite3.register_converter(name, convert)
        self._db = sqlite3.connect(
            path, isolation_level=None, detect_types=sqlite3.PARSE_DECLTYPES, check_same_thread=False
        )
        self._db.row_factory = _as_dict
        self._depth = 0
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "busy_timeout=5000"):
            self._db.execute(f"PRAGMA {pragma}")
        self._db.executescript(SCHEMA)

    def close(self) -> None:
        """Close the database; the instance can't be used after."""
        self._db.close()

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Commit everything inside together, or nothing when it raises; nests."""
        if self._depth == 0:
            self._db.execute("BEGIN IMMEDIATE")
        self._depth += 1
        try:
            yield
        except BaseException:
            self._depth -= 1
            if self._depth == 0:
                self._db.execute("ROLLBACK")
            raise
        self._depth -= 1
        if self._depth == 0:
            self._db.execute("COMMIT")

    def query(self, sql: str, *values: Any) -> list[Row]:
        """Rows of a SELECT."""
        return self._db.execute(sql, values).fetchall()

    def execute(self, sql: str, *values: Any) -> int:
        """Run a statement and give the number of rows it changed."""
        return self._db.execute(sql, values).rowcount

    def find(self, table: str, **where: Any) -> list[Row]:
        """All rows whose columns equal the given values, oldest first."""
        clause, values = _where(where)
        return self.query(f"SELECT * FROM {table}{clause} ORDER BY id", *values)  # noqa: S608 - own names only

    def one(self, table: str, **where: Any) -> Row | None:
        """The first row that `find` gives, or None."""
        clause, values = _where(where)
        rows = self.query(f"SELECT * FROM {table}{clause} ORDER BY id LIMIT 1", *values)  # noqa: S608 - own names only
        return rows[0] if rows else None

    def get(self, table: str, row_id: int) -> Row:
        """The row with this id, which must exist."""
        row = self.one(table, id=row_id)
        if row is None:
            raise KeyError(f"{table} has no row {row_id}")
        return row

    def insert(self, table: str, **values: Any) -> int:
        """Add a row and give its id."""
        names = ", ".join(values)
        marks = ", ".join("?" * len(values))
        sql = f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608 - own names only
        return self._db.execute(sql, [_encode(value) for value in values.values()]).lastrowid or 0

    def update(self, table: str, row_id: int, **values: Any) -> None:
        """Change columns of one row; nothing happens without columns."""
        if not values:
            return
        pairs = ", ".join(f"{name} = ?" for name in values)
        sql = f"UPDATE {table} SET {pairs} WHERE id = ?"  # noqa: S608 - own names only
        self._db.execute(sql, [*(_encode(value) for value in values.values()), row_id])

    def delete(self, table: str, **where: Any) -> int:
        """Delete the rows that `find` would give and return their number."""
        clause, values = _where(where)
        return self.execute(f"DELETE FROM {table}{clause}", *values)  # noqa: S608 - own names only

    def meta(self, name: str, default: Any = None) -> Any:
        """A named value of the instance."""
        row = self.one("meta", name=name)
        return default if row is None else row["value"]

    def set_meta(self, name: str, value: Any) -> None:
        """Keep a named value of the instance."""
        sql = (
            "INSERT INTO meta (name, value) VALUES (?, ?) "
            "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        )
        self._db.execute(sql, [name, json.dumps(value)])

    def clear(self) -> None:
        """Empty every table and start all ids again."""
        with self.transaction():
            for table in TABLES:
                self._db.execute(f"DELETE FROM {table}")  # noqa: S608 - own names only
            self._db.execute("DELETE FROM sqlite_sequence")


def _as_dict(cursor: sqlite3.Cursor, values: tuple[Any, ...]) -> Row:
    return {column[0]: value for column, value in zip(cursor.description, values, strict=True)}


def _encode(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    return json.dumps(value) if isinstance(value, dict | list | tuple) else value


def _where(where: Row) -> tuple[str, list[Any]]:
    if not where:
        return "", []
    parts = [f"{name} IS ?" if value is None else f"{name} = ?" for name, value in where.items()]
    return " WHERE " + " AND ".join(parts), [_encode(value) for value in where.values()]
