"""The calls that the adapter makes, as access rules of an application credential.

Whatever is not listed is then refused. Signing in needs no rule. Calls that Nova makes for a server need none
where the cloud's services send their own token along, as they do since 2023.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AccessRule:
    """One call that the credential may make."""

    service: str
    """Type in the catalog: compute, network, block-storage or image."""
    method: str
    path: str
    """Below the service's version; `*` stands for one part."""
    why: str


ACCESS_RULES = (
    AccessRule("compute", "GET", "/servers/detail", "the list of servers"),
    AccessRule("compute", "POST", "/servers", "create"),
    AccessRule("compute", "GET", "/servers/*", "one server"),
    AccessRule("compute", "DELETE", "/servers/*", "delete"),
    AccessRule("compute", "POST", "/servers/*/action", "console log; unlock and forced deletion where set"),
    AccessRule("compute", "GET", "/flavors", "flavors by name"),
    AccessRule("compute", "GET", "/limits", "quota room"),
    AccessRule("compute", "GET", "/os-availability-zone", "a zone without hosts or without existence"),
    AccessRule("network", "GET", "/networks", "a network by name"),
    AccessRule("network", "GET", "/security-groups", "security groups of premade ports by name"),
    AccessRule("network", "GET", "/ports", "leftovers"),
    AccessRule("network", "POST", "/ports", "premade ports"),
    AccessRule("network", "GET", "/ports/*", "a last look before a removal"),
    AccessRule("network", "PUT", "/ports/*", "marking ports that Nova made"),
    AccessRule("network", "DELETE", "/ports/*", "leftovers"),
    AccessRule("network", "GET", "/floatingips", "leftovers"),
    AccessRule("network", "GET", "/floatingips/*", "a last look before a removal"),
    AccessRule("network", "DELETE", "/floatingips/*", "leftovers"),
    AccessRule("network", "GET", "/quotas/*/details.json", "quota room"),
    AccessRule("block-storage", "GET", "/volumes/detail", "leftovers"),
    AccessRule("block-storage", "POST", "/volumes", "premade boot volumes"),
    AccessRule("block-storage", "GET", "/volumes/*", "waiting for a boot volume; a last look"),
    AccessRule("block-storage", "DELETE", "/volumes/*", "leftovers"),
    AccessRule("block-storage", "POST", "/volumes/*/metadata", "marking volumes that Nova made"),
    AccessRule(
        "block-storage", "GET", "/attachments", "leftovers that are reserved for or attached to a server"
    ),
    AccessRule("block-storage", "DELETE", "/attachments/*", "the same"),
    AccessRule("block-storage", "GET", "/limits", "quota room"),
    AccessRule("image", "GET", "/images", "an image by name"),
)
"""All of them; `tests/contract/autoscaler/cloud` holds them to what the adapter really calls."""

PREFIXES = {"compute": "/v2.1", "network": "/v2.0", "block-storage": "/v3/*", "image": "/v2"}
"""Beginning of the paths, as in the usual catalog; a cloud may have `/compute/v2.1` and the like."""


def access_rules(
    prefixes: Mapping[str, str] | None = None, services: Mapping[str, str] | None = None
) -> list[dict[str, str]]:
    """Return the rules as Keystone takes them (`openstack application credential create --access-rules`).

    Args:
        prefixes: Beginnings of paths that differ from `PREFIXES`, by service.
        services: Service types that the cloud calls otherwise, such as block-storage: volumev3.
    """
    before = {**PREFIXES, **(prefixes or {})}
    named = services or {}
    return [
        {
            "service": named.get(rule.service, rule.service),
            "method": rule.method,
            "path": f"{before[rule.service]}{rule.path}",
        }
        for rule in ACCESS_RULES
    ]
