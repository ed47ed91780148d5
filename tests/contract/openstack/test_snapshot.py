"""A snapshot brings rows, keys and credentials back; on a database server of its own, so no cloud is touched."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcloud.openstack import clouds, control, database, install, layout, snapshot
from localcloud.openstack.record import Record
from localcloud.processes import Service

pytestmark = [
    pytest.mark.localcloud,
    pytest.mark.skipif(shutil.which(install.program("mariadbd")) is None, reason="MariaDB is not installed"),
]


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
        database.execute(
            f"CREATE DATABASE {name}; CREATE TABLE {name}.parent (id INT PRIMARY KEY, word TEXT)"
        )
        database.execute(f"CREATE TABLE {name}.child (id INT REFERENCES {name}.parent (id), note BLOB)")
        database.execute(
            f"INSERT INTO {name}.parent VALUES (1, 'it''s {name}'); INSERT INTO {name}.child VALUES (1, 'x')"
        )
    for name in ("glance", "fernet", "credential"):
        (layout.data() / name).mkdir()
        (layout.data() / name / "0").write_text("key")
    clouds.put("shadow-dev", clouds.credential_entry("id", "old"))
    snapshot.take(Record("abc").done(schema=True))

    database.execute(
        "DELETE FROM nova_api.child; DELETE FROM nova_api.parent; INSERT INTO cinder.parent VALUES (2, 'b')"
    )
    (layout.data() / "fernet" / "0").unlink()
    (layout.data() / "glance" / "more").write_text("image")
    clouds.put("other", clouds.credential_entry("id", "new"))
    Record("abc").done()
    snapshot.restore()

    assert rows("SELECT word FROM nova_api.parent", tmp_path / "a") == "it's nova_api\n"
    assert rows("SELECT id FROM cinder.parent", tmp_path / "b") == "1\n"
    assert (layout.data() / "fernet" / "0").read_text() == "key"
    assert not (layout.data() / "glance" / "more").exists()
    assert list(clouds.entries()) == ["shadow-dev"]
    assert Record.load() == Record("abc", schema=True)
