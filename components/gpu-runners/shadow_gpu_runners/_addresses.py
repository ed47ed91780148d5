"""Checks of IPv4 ranges before a cloud sees them."""

import ipaddress
from collections.abc import Iterable, Mapping

from shadow_gpu_runners._validation import Problems

# Network address, broadcast address, gateway, and the two ports that Neutron's own DHCP may take.
NOT_FOR_INSTANCES = 5

RESERVED: Mapping[str, str] = {
    "0.0.0.0/8": "this host",
    "127.0.0.0/8": "loopback",
    "169.254.0.0/16": "link-local, where the metadata service lives",
    "172.17.0.0/16": "Docker's default bridge, whose containers would not reach their neighbours",
    "224.0.0.0/3": "multicast and reserved",
}
"""Ranges that runners cannot have, with the reason."""


def parse(problems: Problems, path: str, text: str) -> ipaddress.IPv4Network | None:
    """Return `text` as a network, or note why it is none under `path` and return None."""
    try:
        return ipaddress.IPv4Network(text)
    except ValueError:
        pass
    try:
        inside = ipaddress.IPv4Interface(text).network
    except ValueError:
        problems.add(path, text, "an IPv4 range like '10.20.0.0/24'", "write address/prefix length")
        return None
    problems.add(path, text, "the address of a network, not of a host in it", f"write '{inside}'")
    return None


def check_address(problems: Problems, path: str, text: str) -> None:
    """Note a fault unless `text` is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        problems.add(path, text, "an IP address like '9.9.9.9'", "write the address of a resolver")


def check_subnet(problems: Problems, path: str, text: str, instances: int, avoid: Iterable[str]) -> None:
    """Note what keeps `text` from being a subnet for `instances` that meets none of the ranges `avoid`."""
    network = parse(problems, path, text)
    if network is None:
        return
    room = network.num_addresses - NOT_FOR_INSTANCES
    if room < instances:
        fitting = 32 - (instances + NOT_FOR_INSTANCES - 1).bit_length()
        problems.add(
            path,
            text,
            f"room for {instances} instance(s); it has {max(room, 0)} ({NOT_FOR_INSTANCES} are taken)",
            f"take a /{fitting} or larger",
        )
    reasons = {**RESERVED, **dict.fromkeys(avoid, "named in avoidCidrs")}
    for taken, reason in reasons.items():
        if network.overlaps(ipaddress.IPv4Network(taken)):
            problems.add(path, text, f"a range apart from {taken} ({reason})", "take another range")


def is_everywhere(text: str) -> bool:
    """Say whether the range `text` holds every address."""
    return text.endswith("/0")
