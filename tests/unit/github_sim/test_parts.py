"""Store, clock, pages, signatures, limits, masks: one small thing each."""

import hashlib
import hmac
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcloud.github import deliveries, faults, fields, git
from localcloud.github.accounts import repository
from localcloud.github.clock import seconds_of
from localcloud.github.errors import ApiError
from localcloud.github.http import Call
from localcloud.github.journal import masked
from localcloud.github.limits import allowance
from localcloud.github.paging import page
from localcloud.github.principal import ANONYMOUS, Principal, reads, writes
from localcloud.github.simulator import Simulator
from localcloud.github.store import Store


def test_what_was_committed_is_there_after_a_crash_and_the_rest_is_not(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.sqlite")
    store.save("thing", {"id": 1, "name": "kept"})
    store.append_text("log", "one\n")
    store.append_text("log", "two\n")
    store.commit()
    store.save("thing", {"id": 2, "name": "lost"})
    again = Store(tmp_path / "a.sqlite")
    assert [doc["name"] for doc in again.find("thing")] == ["kept"]
    assert again.read_text("log") == "one\ntwo\n"
    store.close()
    again.close()


def test_numbers_are_never_given_twice(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.sqlite")
    assert [store.next_id("x", 10) for _ in range(3)] == [10, 11, 12]
    store.close()
    again = Store(tmp_path / "a.sqlite")
    assert again.next_id("x", 10) == 13
    again.close()


def test_the_state_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    Store(tmp_path / "a.sqlite").close()
    assert (tmp_path / "a.sqlite").stat().st_mode & 0o777 == 0o600


def test_the_clock_moves_forward_and_writes_what_it_reads(sim: Simulator) -> None:
    before = sim.clock.now()
    sim.clock.advance(3600)
    assert 3600 <= sim.clock.now() - before < 3660
    assert seconds_of(sim.clock.iso(1_000_000_000)) == 1_000_000_000


def call(sim: Simulator, **query: str) -> Call:
    return Call(sim, ANONYMOUS, {}, query, {}, "http://127.0.0.1:1/x?name=a&page=1")


@given(
    count=st.integers(0, 350),
    size=st.sampled_from(["", "0", "7", "100", "1000", "x"]),
)
def test_pages_have_every_item_once_and_links_lead_through_them(count: int, size: str) -> None:
    sim: Simulator = None  # type: ignore[assignment]
    seen: list[int] = []
    number: str | None = "1"
    while number is not None:
        reply = page(call(sim, per_page=size, page=number), range(count), lambda item: item)
        assert isinstance(reply.body, list)
        assert len(reply.body) <= 100
        seen += reply.body
        links = [part for part in reply.headers.get("Link", "").split(", ") if 'rel="next"' in part]
        query = parse_qs(urlsplit(links[0].split(">")[0]).query) if links else {}
        assert not links or query["name"] == ["a"]
        number = query["page"][0] if links else None
    assert seen == list(range(count))


def test_a_signature_is_the_hmac_of_the_exact_bytes() -> None:
    body = '{"ä":1}'.encode()
    expected = hmac.new(b"key", body, hashlib.sha256).hexdigest()
    assert deliveries.signature("key", body) == f"sha256={expected}"


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://127.0.0.1:8080/x", True),
        ("http://127.9.9.9/x", True),
        ("http://[::1]/x", True),
        ("http://localhost/x", True),
        ("http://10.0.0.1/x", False),
        ("https://hooks.example.com/x", False),
        ("http://localhost.example.com/x", False),
        ("http://127.0.0.1@10.0.0.1/x", False),
    ],
)
def test_only_loopback_is_called(url: str, loopback: bool) -> None:
    assert deliveries.is_loopback(url) is loopback


def test_secrets_are_masked_at_every_depth() -> None:
    body = {"config": {"secret": "s", "url": "u"}, "list": [{"token": "t"}], "encoded_jit_config": "j"}
    text = str(masked(body))
    assert "'u'" in text
    assert not any(f"'{secret}'" in text for secret in "stj")


def test_an_installation_may_call_more_with_more_repositories(sim: Simulator) -> None:
    org_id = sim.store.find("account", login="acme")[0]["id"]
    caller = Principal("installation", "i", account_id=org_id)
    assert allowance(sim, caller, "core") == 5000
    for number in range(400):
        sim.store.save("repository", {"id": number, "owner_id": org_id})
    assert allowance(sim, caller, "core") == 12_500
    assert allowance(sim, ANONYMOUS, "core") == 60


@pytest.mark.parametrize(
    ("permissions", "may_read", "may_write"),
    [({}, False, False), ({"checks": "read"}, True, False), ({"checks": "write"}, True, True)],
)
def test_a_permission_has_levels(permissions: dict[str, str], may_read: bool, may_write: bool) -> None:
    caller = Principal("installation", "i", permissions=permissions)
    assert (caller.may(reads("checks")), caller.may(writes("checks"))) == (may_read, may_write)


def test_a_fault_is_used_up(sim: Simulator) -> None:
    faults.add(sim, {"path": "^/orgs/", "method": "GET", "times": 1})
    assert faults.take(sim, faults.REQUEST_KINDS, "POST", "/orgs/a") is None
    assert faults.take(sim, faults.REQUEST_KINDS, "GET", "/user") is None
    assert faults.take(sim, faults.REQUEST_KINDS, "GET", "/orgs/a") is not None
    assert faults.take(sim, faults.REQUEST_KINDS, "GET", "/orgs/a") is None


@pytest.mark.parametrize("value", [True, "1", 1.0, None])
def test_a_number_is_a_number(value: object) -> None:
    with pytest.raises(ApiError) as error:
        fields.integer({"id": value}, "id")
    assert error.value.status == 422


def test_a_commit_keeps_files_that_it_does_not_touch(sim: Simulator) -> None:
    repo = repository(sim, "acme", "inference")
    assert repo is not None
    git.write_files(sim, repo, "main", {"a": b"1", "b": b"2"}, "one")
    made = git.write_files(sim, repo, "main", {"a": None, "c": b"\0\xff"}, "two")
    assert git.files_of(sim, made) == {"b": b"2", "c": b"\0\xff"}
    # git's own number of the empty file
    assert git.put_blob(sim, b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
