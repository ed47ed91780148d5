"""The egress allow-list of a runner network: what may go out, and how it is told apart."""

from dataclasses import dataclass
from typing import NotRequired, TypedDict

from shadow_gpu_runners._addresses import parse
from shadow_gpu_runners._validation import Problems, whole

ANYWHERE = "0.0.0.0/0"
METADATA = "169.254.169.254/32"
PROTOCOLS = ("tcp", "udp", "icmp")


class EgressRuleArgs(TypedDict):
    """Traffic that runners may send."""

    protocol: NotRequired[str]
    """`tcp` (when left out), `udp` or `icmp`."""

    port: NotRequired[int]
    """First port, 1 to 65535; every port when left out."""

    last_port: NotRequired[int]
    """Last port of a range; the same as `port` when left out."""

    cidr: NotRequired[str]
    """IPv4 range that may be reached; anywhere when left out."""

    description: NotRequired[str]
    """What the traffic is for."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One allowed flow, complete."""

    protocol: str
    first_port: int | None
    last_port: int | None
    cidr: str
    description: str

    @property
    def key(self) -> str:
        """Part of the rule's logical name that tells it from the group's others, independent of its place."""
        ports = "all" if self.first_port is None else f"{self.first_port}"
        if self.last_port != self.first_port:
            ports += f"-{self.last_port}"
        where = "" if self.cidr == ANYWHERE else f"-{self.cidr.replace('/', '-')}"
        return f"egress-{self.protocol}-{ports}{where}"


DEFAULT: tuple[EgressRuleArgs, ...] = (
    {"protocol": "tcp", "port": 443, "description": "HTTPS"},
    {"protocol": "tcp", "port": 80, "description": "HTTP"},
    {"protocol": "udp", "port": 53, "description": "DNS"},
    {"protocol": "tcp", "port": 53, "description": "DNS over TCP"},
    {"protocol": "udp", "port": 123, "description": "NTP"},
)

# Without it cloud-init finds no user-data, and the runner no notice of a spot reclaim.
_METADATA_RULE = Rule("tcp", 80, 80, METADATA, "metadata service")


def rules(wanted: list[EgressRuleArgs] | None) -> list[Rule]:
    """Return the flows `wanted` allows (the default ones for None) and the way to the metadata service."""
    listed = [_complete(rule) for rule in (DEFAULT if wanted is None else wanted)]
    return listed if any(map(_opens_metadata, listed)) else [*listed, _METADATA_RULE]


def _opens_metadata(rule: Rule) -> bool:
    ports = range(rule.first_port or 1, (rule.last_port or 65535) + 1)
    return rule.protocol == "tcp" and rule.cidr in (ANYWHERE, METADATA) and 80 in ports


def _complete(rule: EgressRuleArgs) -> Rule:
    port = whole(rule["port"]) if "port" in rule else None
    last = whole(rule["last_port"]) if "last_port" in rule else port
    return Rule(
        rule.get("protocol", "tcp"), port, last, rule.get("cidr", ANYWHERE), rule.get("description", "")
    )


def check(problems: Problems, wanted: list[EgressRuleArgs] | None) -> None:
    """Note every fault of the allow-list `wanted`."""
    for index, rule in enumerate(wanted or []):
        _check_rule(problems, f"egress[{index}]", rule)
    keys = [_complete(rule).key for rule in wanted or []]
    for index, key in enumerate(keys):
        if key in keys[:index]:
            problems.add(f"egress[{index}]", key, "a rule that is not listed yet", "remove the second one")


def _check_rule(problems: Problems, path: str, rule: EgressRuleArgs) -> None:
    problems.one_of(f"{path}.protocol", rule.get("protocol", "tcp"), PROTOCOLS)
    if "cidr" in rule:
        parse(problems, f"{path}.cidr", rule["cidr"])
    if rule.get("protocol") == "icmp" and "port" in rule:
        problems.add(f"{path}.port", rule["port"], "no port for icmp", "remove it")
        return
    first, last = rule.get("port", 1), rule.get("last_port", rule.get("port", 1))
    if not 1 <= first <= last <= 65535:
        problems.add(
            f"{path}.port", f"{first:g} to {last:g}", "ports in 1 to 65535, smaller first", "mend it"
        )
    if "last_port" in rule and "port" not in rule:
        problems.add_missing(f"{path}.port", "the first port of the range", "add it")
