"""Documents of the metadata service, made of Nova's record."""

import base64
import json

import pytest

from localcloud.guests.metadata import Notice, answer
from localcloud.guests.servers import Address, Server

SERVER = Server(
    id="5d0f0a1c-1111-4222-8333-444455556666",
    name="gpu-0",
    status="ACTIVE",
    flavor="edge-c4m16-gpu-2000-1",
    project_id="acme",
    zone="zone-a",
    metadata={"owner": "ci"},
    addresses=(Address("10.0.0.4", "ci", "fa:16:3e:00:00:01"), Address("203.0.113.9", "ci", "", "floating")),
    user_data=base64.b64encode(b"#cloud-config\n").decode(),
)
NOTICE = Notice("2026-12-01T10:00:00Z")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", b"2009-04-04\nlatest"),
        ("/openstack/2018-08-27/user_data", b"#cloud-config\n"),
        ("/openstack/latest/vendor_data.json", b"{}"),
        ("/latest/user-data", b"#cloud-config\n"),
        ("/2009-04-04/meta-data/instance-type", b"edge-c4m16-gpu-2000-1"),
        ("/latest/meta-data/placement", b"availability-zone"),
        ("/latest/meta-data/placement/", b"availability-zone"),
        ("/latest/meta-data/placement/availability-zone", b"zone-a"),
        ("/latest/meta-data/instance-id", b"i-5d0f0a1c"),
        ("/latest/meta-data/spot/termination-time", None),
        ("/latest/meta-data/hostname/more", None),
        ("/latest/meta-data/nothing", None),
        ("/latest/dynamic", None),
        ("/openstack/1999/meta_data.json", None),
        ("/openstack/latest/password", None),
        ("/elsewhere", None),
    ],
)
def test_paths(path: str, expected: bytes | None) -> None:
    assert answer(SERVER, path) == expected


def test_openstack_document_and_network() -> None:
    document = json.loads(answer(SERVER, "/openstack/latest/meta_data.json") or b"")
    assert (document["uuid"], document["meta"], document["availability_zone"]) == (
        SERVER.id,
        {"owner": "ci"},
        "zone-a",
    )
    network = json.loads(answer(SERVER, "/openstack/latest/network_data.json") or b"")
    assert [entry["ip_address"] for entry in network["networks"]] == ["10.0.0.4"]


def test_a_notice_shows_in_both_forms() -> None:
    assert answer(SERVER, "/latest/meta-data/spot/termination-time", NOTICE) == NOTICE.at.encode()
    document = json.loads(answer(SERVER, "/openstack/latest/meta_data.json", NOTICE) or b"")
    assert document["meta"] == {"owner": "ci", "spot_termination_time": NOTICE.at}


@pytest.mark.parametrize(
    ("pointer", "read"),
    [
        ("/spot/at", lambda d: d["spot"]["at"]),
        ("/meta/a~1b", lambda d: d["meta"]["a/b"]),
        ("/t", lambda d: d["t"]),
    ],
)
def test_the_notice_s_place_can_be_chosen(pointer: str, read: object) -> None:
    document = json.loads(
        answer(SERVER, "/openstack/latest/meta_data.json", Notice(NOTICE.at, pointer)) or b""
    )
    assert callable(read)
    assert read(document) == NOTICE.at


def test_no_user_data_is_404() -> None:
    assert answer(Server("i", "n", "ACTIVE", "f"), "/openstack/latest/user_data") is None
    assert answer(Server("i", "n", "ACTIVE", "f", user_data="not base64"), "/latest/user-data") is None
