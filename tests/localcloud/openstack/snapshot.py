"""The empty cloud, kept for a fast reset: databases as SQL, images, keys, credentials."""

import shutil

from localcloud.openstack import clouds, database, layout
from localcloud.openstack.record import Record

_SQL = "rows.sql"
_DATA = ("glance", "fernet", "credential")


def exists(fingerprint: str) -> bool:
    """Whether there is a complete snapshot made with this configuration."""
    try:
        return _stored_fingerprint() == fingerprint
    except FileNotFoundError:
        return False


def take(record: Record) -> None:
    """Keep the running, empty cloud; the marker comes last, so that half a snapshot is none."""
    folder = layout.snapshot()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    database.dump(folder / _SQL)
    for name in _DATA:
        shutil.copytree(layout.data() / name, folder / name)
    shutil.copy2(clouds.path(), folder / "clouds.yaml")
    shutil.copy2(Record.path(), folder / "record.json")
    (folder / "fingerprint").write_text(record.fingerprint)


def restore() -> None:
    """Put the empty cloud back; the database must run, everything else must be stopped."""
    folder = layout.snapshot()
    database.restore(folder / _SQL)
    for name in _DATA:
        shutil.rmtree(layout.data() / name, ignore_errors=True)
        shutil.copytree(folder / name, layout.data() / name)
    shutil.copy2(folder / "clouds.yaml", clouds.path())
    shutil.copy2(folder / "record.json", Record.path())


def _stored_fingerprint() -> str:
    return (layout.snapshot() / "fingerprint").read_text()
