"""clouds.yaml is changed by many tests at a time."""

from concurrent.futures import ThreadPoolExecutor

from localcloud.openstack import clouds


def test_entries_come_and_go() -> None:
    assert clouds.entries() == {}
    clouds.put("one", clouds.credential_entry("id", "secret"))
    clouds.put("two", clouds.password_entry("u", "p", "proj"))
    assert clouds.entries()["one"]["auth_type"] == "v3applicationcredential"
    clouds.put("one", None)
    clouds.put("never-there", None)
    assert list(clouds.entries()) == ["two"]


def test_the_file_is_private() -> None:
    clouds.put("one", clouds.credential_entry("id", "secret"))
    assert clouds.path().stat().st_mode & 0o777 == 0o600


def test_no_entry_is_lost_when_many_write() -> None:
    names = [f"cloud-{number}" for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: clouds.put(name, clouds.credential_entry(name, "s")), names))
    assert sorted(clouds.entries()) == sorted(names)
