"""Everything the simulator knows, as JSON documents in one SQLite file that survives a SIGKILL."""

import json
import sqlite3
from collections import defaultdict
from pathlib import Path
from typing import Any, TypeAlias, cast

Doc: TypeAlias = dict[str, Any]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (kind TEXT, key TEXT, body TEXT NOT NULL, PRIMARY KEY (kind, key));
CREATE TABLE IF NOT EXISTS texts (name TEXT PRIMARY KEY, body TEXT NOT NULL);
"""


def as_doc(value: object) -> Doc | None:
    """The value as a JSON object, None where it is something else."""
    return cast("Doc", value) if isinstance(value, dict) else None


def as_list(value: object) -> list[object] | None:
    """The value as a JSON array, None where it is something else."""
    return cast("list[object]", value) if isinstance(value, list) else None


class Store:
    """Documents by kind and key, held in memory and written through at `commit`.

    A document's key is its `key` field, else its `id`. Callers change the document they got and `save` it;
    what one request changed becomes durable together, before its answer is sent.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._database = sqlite3.connect(path, isolation_level=None)
        path.chmod(0o600)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=NORMAL")
        self._database.executescript(_SCHEMA)
        self._kinds: dict[str, dict[str, Doc]] = defaultdict(dict)
        self._changed: dict[tuple[str, str], Doc | None] = {}
        for kind, key, body in self._database.execute("SELECT kind, key, body FROM documents ORDER BY rowid"):
            self._kinds[kind][key] = json.loads(body)

    def get(self, kind: str, key: object) -> Doc | None:
        """The document, None where there is none."""
        return self._kinds[kind].get(str(key))

    def find(self, kind: str, **equal: object) -> list[Doc]:
        """Documents of a kind whose fields have the given values, oldest first."""
        return [
            doc
            for doc in self._kinds[kind].values()
            if all(doc.get(field) == value for field, value in equal.items())
        ]

    def first(self, kind: str, **equal: object) -> Doc | None:
        """The oldest match of `find`, None where nothing matches."""
        return next(iter(self.find(kind, **equal)), None)

    def save(self, kind: str, doc: Doc) -> Doc:
        """Keep a new or changed document."""
        key = str(doc.get("key", doc.get("id")))
        self._kinds[kind][key] = doc
        self._changed[kind, key] = doc
        return doc

    def remove(self, kind: str, doc: Doc) -> None:
        """Forget a document."""
        key = str(doc.get("key", doc.get("id")))
        self._kinds[kind].pop(key, None)
        self._changed[kind, key] = None

    def next_id(self, name: str, first: int = 1) -> int:
        """The next number of a sequence; a number is never given twice."""
        counter = self.get("counter", name) or {"key": name, "value": first - 1}
        counter["value"] += 1
        self.save("counter", counter)
        return int(counter["value"])

    def write_text(self, name: str, text: str) -> None:
        """Keep a long text (a file, a payload) outside memory."""
        self._begin()
        self._database.execute("INSERT OR REPLACE INTO texts VALUES (?, ?)", (name, text))

    def append_text(self, name: str, text: str) -> None:
        """Add to the end of a long text, such as a job's log."""
        self._begin()
        self._database.execute(
            "INSERT INTO texts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET body = body || excluded.body",
            (name, text),
        )

    def read_text(self, name: str) -> str | None:
        """A long text, None where there is none."""
        row = self._database.execute("SELECT body FROM texts WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def remove_text(self, name: str) -> None:
        """Forget a long text."""
        self._begin()
        self._database.execute("DELETE FROM texts WHERE name = ?", (name,))

    def commit(self) -> None:
        """Make all changes since the last commit durable, as one."""
        if not self._changed and not self._database.in_transaction:
            return
        self._begin()
        for (kind, key), doc in self._changed.items():
            self._write(kind, key, doc)
        self._database.execute("COMMIT")
        self._changed.clear()

    def wipe(self) -> None:
        """Forget everything."""
        self._kinds.clear()
        self._changed.clear()
        self._begin()
        self._database.execute("DELETE FROM documents")
        self._database.execute("DELETE FROM texts")
        self._database.execute("COMMIT")

    def close(self) -> None:
        """Commit and close the file."""
        self.commit()
        self._database.close()

    def _begin(self) -> None:
        if not self._database.in_transaction:
            self._database.execute("BEGIN IMMEDIATE")

    def _write(self, kind: str, key: str, doc: Doc | None) -> None:
        if doc is None:
            self._database.execute("DELETE FROM documents WHERE kind = ? AND key = ?", (kind, key))
            return
        self._database.execute(
            "INSERT INTO documents VALUES (?, ?, ?)"
            " ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body",
            (kind, key, json.dumps(doc)),
        )
