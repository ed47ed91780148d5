"""Decides by the guest's stored iptables rules whether a request reaches the metadata service."""

import ipaddress
from collections.abc import Callable, Sequence
from dataclasses import dataclass

METADATA_ADDRESS = "169.254.169.254"
_TARGETS_REFUSING = frozenset({"REJECT", "DROP"})
_TARGETS_ENDING = _TARGETS_REFUSING | {"ACCEPT"}
_MAX_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Requester:
    """Who opened the connection: its user, and whether its packets are forwarded for a container's bridge."""

    uid: int
    in_container: bool = False


def allowed(rules: Sequence[str], requester: Requester) -> bool:
    """Whether rules (lines of `iptables -S`) let the requester reach port 80 of the metadata address."""
    start = "FORWARD" if requester.in_container else "OUTPUT"
    verdict = _chain(rules, start, requester, 0)
    return (verdict or _policy(rules, start)) not in _TARGETS_REFUSING


def _policy(rules: Sequence[str], chain: str) -> str:
    return next((line.split()[2] for line in rules if line.startswith(f"-P {chain} ")), "ACCEPT")


def _chain(rules: Sequence[str], chain: str, requester: Requester, depth: int) -> str | None:
    if depth > _MAX_DEPTH:
        return None
    for line in rules:
        words = line.split()
        if words[:2] != ["-A", chain] or not _matches(words[2:], requester):
            continue
        target = _value(words, "-j") or _value(words, "-g")
        if target == "RETURN":
            return None
        verdict = target if target in _TARGETS_ENDING else _chain(rules, target or "", requester, depth + 1)
        if verdict in _TARGETS_ENDING:
            return verdict
    return None


def _value(words: Sequence[str], *options: str) -> str | None:
    return next((words[i + 1] for i, word in enumerate(words[:-1]) if word in options), None)


def _matches(words: Sequence[str], requester: Requester) -> bool:
    checks: dict[tuple[str, ...], Callable[[str], bool]] = {
        ("-d", "--destination", "--dst"): _covers_metadata,
        ("-p", "--protocol"): lambda value: value in {"tcp", "all"},
        ("--dport", "--destination-port"): lambda value: value == "80",
        ("--dports", "--destination-ports"): lambda value: "80" in value.split(","),
        ("--uid-owner",): lambda value: not requester.in_container and _uid_in(value, requester.uid),
        ("-i", "--in-interface"): lambda value: (
            requester.in_container and value.startswith(("docker", "br-"))
        ),
        ("-s", "--source"): lambda value: requester.in_container or value == "0.0.0.0/0",
    }
    for index, word in enumerate(words[:-1]):
        for options, check in checks.items():
            if word in options:
                negated = index > 0 and words[index - 1] == "!"
                if check(words[index + 1]) == negated:
                    return False
    return True


def _covers_metadata(value: str) -> bool:
    address = ipaddress.ip_address(METADATA_ADDRESS)
    return any(address in ipaddress.ip_network(part, strict=False) for part in value.split(","))


def _uid_in(value: str, uid: int) -> bool:
    first, _, last = value.partition("-")
    names = {"root": "0", "nobody": "65534"}
    first, last = names.get(first, first), last or names.get(first, first)
    return first.isdigit() and last.isdigit() and int(first) <= uid <= int(last)
