"""Each guest has a metadata service of its own, which obeys the guest's firewall as the real one would."""

import json
import urllib.error
import urllib.request
from datetime import UTC, datetime

import pytest
from lab import Lab, call, sh

from localcloud.guests.guest import Guest
from localcloud.guests.metadata import Notice

USER_DATA = "openstack/latest/user_data"
IN_CONTAINER = "docker run --rm ubuntu:22.04 curl -fsS -m 5 $SHADOW_METADATA_URL/"
CLOSE = (
    "iptables -I OUTPUT -d 169.254.169.254 -m owner ! --uid-owner 0 -j REJECT; "
    "iptables -I DOCKER-USER -d 169.254.169.254 -j REJECT"
)
OPEN = "iptables -F OUTPUT; iptables -D DOCKER-USER -d 169.254.169.254 -j REJECT"


@pytest.fixture
def closed(docker_guest: Guest) -> object:
    assert sh(docker_guest, CLOSE).returncode == 0
    yield docker_guest
    sh(docker_guest, OPEN)


def get(guest: Guest, path: str, user: str = "") -> str:
    return sh(guest, f"curl -fsS -m 5 $SHADOW_METADATA_URL/{path}", user=user).stdout


def test_it_shows_nova_s_record_in_both_forms(docker_guest: Guest) -> None:
    document = json.loads(get(docker_guest, "openstack/latest/meta_data.json"))
    assert (document["uuid"], document["name"], document["project_id"]) == (docker_guest.id, "gpu-0", "acme")
    assert get(docker_guest, "latest/meta-data/local-ipv4") == "10.1.0.5"
    assert get(docker_guest, "latest/meta-data/public-ipv4") == "203.0.113.7"
    assert get(docker_guest, "latest/meta-data/instance-type") == "edge-c4m16-gpu-2000-1"
    assert "meta_data.json" in get(docker_guest, "openstack/latest")


def test_an_unknown_path_is_404(docker_guest: Guest) -> None:
    assert "404" in sh(docker_guest, "curl -fsS $SHADOW_METADATA_URL/openstack/latest/password").stderr


def test_the_fixed_address_leads_to_the_same_service(docker_guest: Guest) -> None:
    assert (
        sh(docker_guest, "curl -fs http://169.254.169.254/latest/meta-data/hostname").stdout
        == "gpu-0.novalocal"
    )


def test_programs_outside_the_guest_are_refused(shared_lab: Lab, docker_guest: Guest) -> None:
    other = shared_lab.add(name="other")
    shared_lab.up(other)
    url = f"http://127.0.0.1:{docker_guest.record().port}/{USER_DATA}"
    with pytest.raises((urllib.error.URLError, ConnectionError)):
        urllib.request.urlopen(url, timeout=5)
    assert sh(other, f"curl -fsS {url}").returncode != 0
    shared_lab.servers.delete(other.id)
    shared_lab.agent.tick()


def test_user_and_container_can_read_user_data_before_the_rules(docker_guest: Guest) -> None:
    assert get(docker_guest, USER_DATA, user="1000").startswith("#cloud-config")
    assert sh(docker_guest, IN_CONTAINER + USER_DATA).stdout.startswith("#cloud-config")


def test_neither_can_after_the_rules_but_root_still_can(closed: Guest) -> None:
    assert get(closed, USER_DATA).startswith("#cloud-config")
    refused = sh(closed, f"curl -fsS -m 5 $SHADOW_METADATA_URL/{USER_DATA}", user="1000")
    assert (refused.returncode in {7, 52, 56}, refused.stdout) == (True, "")
    from_container = sh(closed, IN_CONTAINER + USER_DATA)
    assert (from_container.returncode in {7, 52, 56}, from_container.stdout) == (True, "")


def test_a_container_on_the_host_s_network_is_held_by_the_host_s_rules(closed: Guest) -> None:
    run = "docker run --rm --network host {} ubuntu:22.04 "
    run += "curl -fsS -m 5 $SHADOW_METADATA_URL/latest/meta-data/hostname"
    assert sh(closed, run.format("")).stdout == "gpu-0.novalocal"
    assert sh(closed, run.format("-u 1000")).returncode != 0


def test_a_container_s_own_rules_do_not_open_the_route(closed: Guest) -> None:
    opened = "iptables -F; curl -fsS -m 5 $SHADOW_METADATA_URL/latest/meta-data/hostname"
    assert sh(closed, f"docker run --rm ubuntu:22.04 bash -c '{opened}'").stdout == ""


def test_a_reclaim_appears_where_it_is_announced(docker_guest: Guest) -> None:
    assert (
        sh(docker_guest, "curl -fsS $SHADOW_METADATA_URL/latest/meta-data/spot/termination-time").returncode
        == 22
    )
    docker_guest.announce(datetime(2026, 12, 1, 10, 30, tzinfo=UTC))
    assert docker_guest.notice() == Notice("2026-12-01T10:30:00Z")
    document = json.loads(get(docker_guest, "openstack/latest/meta_data.json"))
    assert document["meta"]["spot_termination_time"] == "2026-12-01T10:30:00Z"
    assert get(docker_guest, "latest/meta-data/spot/termination-time") == "2026-12-01T10:30:00Z"
    docker_guest.announce(datetime(2026, 12, 1, 10, 30, tzinfo=UTC), "/shadow/preempt_at")
    assert json.loads(get(docker_guest, "openstack/latest/meta_data.json"))["shadow"] == {
        "preempt_at": "2026-12-01T10:30:00Z"
    }
    (docker_guest.folder / "reclaim.json").unlink()


def test_a_head_request_has_no_body(docker_guest: Guest) -> None:
    answer = call(docker_guest, ["curl", "-sI", "http://169.254.169.254/latest/meta-data/hostname"]).stdout
    assert "200 OK" in answer
    assert "novalocal" not in answer
