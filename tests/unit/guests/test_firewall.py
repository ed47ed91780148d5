"""Which requests the guest's stored rules let through to the metadata service."""

import pytest

from localcloud.guests.firewall import Requester, allowed

BASE = [
    "-P INPUT ACCEPT",
    "-P FORWARD ACCEPT",
    "-P OUTPUT ACCEPT",
    "-N DOCKER-USER",
    "-A FORWARD -j DOCKER-USER",
]
OWNER = "-A OUTPUT -d 169.254.169.254/32 -m owner ! --uid-owner 0 -j REJECT"
BRIDGE = "-A DOCKER-USER -d 169.254.169.254/32 -j DROP"
ROOT, USER, JOB = Requester(0), Requester(1000), Requester(0, in_container=True)


@pytest.mark.parametrize(
    ("rules", "requester", "expected"),
    [
        ([], USER, True),
        (BASE, JOB, True),
        ([*BASE, OWNER], ROOT, True),
        ([*BASE, OWNER], USER, False),
        ([*BASE, OWNER], JOB, True),
        ([*BASE, BRIDGE], JOB, False),
        ([*BASE, BRIDGE], USER, True),
        ([*BASE, "-A DOCKER-USER -j RETURN", BRIDGE], JOB, True),
        ([*BASE, BRIDGE, "-A DOCKER-USER -j RETURN"], JOB, False),
        (["-P OUTPUT DROP", "-P FORWARD ACCEPT"], ROOT, False),
        (["-P OUTPUT DROP", "-A OUTPUT -p tcp --dport 80 -j ACCEPT"], ROOT, True),
        ([*BASE, "-A OUTPUT -d 169.254.0.0/16 -j REJECT"], USER, False),
        ([*BASE, "-A OUTPUT -d 10.0.0.0/8 -j REJECT"], USER, True),
        ([*BASE, "-A OUTPUT ! -d 10.0.0.0/8 -j REJECT"], USER, False),
        ([*BASE, "-A OUTPUT -p udp -j REJECT"], USER, True),
        ([*BASE, "-A OUTPUT -p tcp --dport 443 -j REJECT"], USER, True),
        ([*BASE, "-A OUTPUT -m owner --uid-owner 500-1500 -j REJECT"], USER, False),
        ([*BASE, "-A OUTPUT -m owner --uid-owner root -j REJECT"], USER, True),
        ([*BASE, "-A FORWARD -i docker0 -d 169.254.169.254/32 -j REJECT"], JOB, False),
        ([*BASE, "-A FORWARD -i eth0 -j REJECT"], JOB, True),
        ([*BASE, "-A OUTPUT -j OUTPUT"], USER, True),
    ],
)
def test_rules(rules: list[str], requester: Requester, expected: bool) -> None:
    assert allowed(rules, requester) is expected
