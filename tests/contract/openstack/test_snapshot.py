"""A snapshot brings rows, keys and credentials back; tried on a database server of its own."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcloud.openstack import clouds, control, database, install, layout, snapshot
from localcloud.openstack.record import Record
from localcloud.processes import Service

pytestmark = pytest.mark.localcloud

TABLES = """
CREATE TABLE parent (id INT PRIMARY KEY, word TEXT);
CREATE TABLE child (id INT REFERENCES parent (id), note BLOB);
INSERT INTO parent VALUES (1, 'it''s old');
INSERT INTO child VALUES (1, 'x');
"""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    with tempfile.TemporaryDirectory(prefix="cloud") as folder:  # a socket's path must be short
        monkeypatch.setenv("SHADOW_LOCALCLOUD_HOME", folder)
        layout.data().mkdir(parents=True)
        database.initialise()
        service = control.known()["db"]
        service.start()
        service.wait_ready()
        yield service
        service.kill()


def rows(query: str, path: Path) -> str:
    with path.open("wb") as out:
        command = [
            install.program("mariadb"),
            "--no-defaults",
            "-uroot",
            "-S",
            str(layout.socket()),
            "-Ne",
            query,
        ]
        database.run(command, "query", stdout=out)
    return path.read_text()


@pytest.mark.usefixtures("server")
def test_what_came_after_the_snapshot_is_gone_and_what_was_before_is_back(tmp_path: Path) -> None:
    for name in layout.DATABASES:
        database.execute(f"CREATE DATABASE {name}; USE {name}; {TABLES}")
    for name in ("glance", "fernet", "credential"):
        (layout.data() / name).mkdir()
        (layout.data() / name / "0").write_text("key")
    clouds.put("shadow-dev", clouds.credential_entry("id", "old"))
    snapshot.take(Record("abc").done(schema=True))

    database.execute("USE nova_api; DELETE FROM child; DELETE FROM parent")
    database.execute("USE cinder; INSERT INTO parent VALUES (2, 'new')")
    (layout.data() / "fernet" / "0").unlink()
    (layout.data() / "glance" / "more").write_text("image")
    clouds.put("other", clouds.credential_entry("id", "new"))
    Record("abc").done()
    snapshot.restore()

    assert rows("SELECT word FROM nova_api.parent", tmp_path / "a") == "it's old\n"
    assert rows("SELECT id FROM cinder.parent", tmp_path / "b") == "1\n"
    assert (layout.data() / "fernet" / "0").read_text() == "key"
    assert not (layout.data() / "glance" / "more").exists()
    assert list(clouds.entries()) == ["shadow-dev"]
    assert Record.load() == Record("abc", schema=True)
