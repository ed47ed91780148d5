"""The rules: plain functions over a resource (or all of them), for the policy pack and the preview comment.

A rule yields a sentence for each thing that is wrong, and an `Unchecked` where it cannot see a value.
"""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from policy_model import (
    SECRET,
    UNKNOWN,
    Answers,
    Finding,
    Resource,
    Rule,
    StackRule,
    Unchecked,
    allowed,
    hidden,
)
from secret_text import kinds

_INSTANCE: Final = "openstack:compute/instance:Instance"
_RULE: Final = "openstack:networking/secGroupRule:SecGroupRule"
_VOLUME: Final = "openstack:blockstorage/volume:Volume"
_TAGGED: Final = frozenset(
    f"openstack:networking/{name[0].lower()}{name[1:]}:{name}"
    for name in ("FloatingIp", "Network", "Port", "Router", "SecGroup", "Subnet")
) | {"openstack:images/image:Image"}
_MARK: Final = "shadow-gpu-runners.deployment"
_NARROWEST_OPEN: Final = {4: 8, 6: 16}
"""Prefixes shorter than these cover whole providers, so they count as the open internet."""
_SPOT: Final = r"^[^-]+-preemptible-"
_SIZE: Final = re.compile(r"-c(\d+)m(\d+)(?:-|$)")


def no_open_ingress(resource: Resource, options: Mapping[str, Any]) -> Answers:
    """Nothing is reachable from everywhere."""
    if resource.type != _RULE or resource.props.get("direction") == "egress" or allowed(resource, options):
        return
    props = resource.props
    source = [props.get(name) for name in ("remoteIpPrefix", "remoteGroupId", "remoteAddressGroupId")]
    what = _ports(props)
    if source == [None, None, None]:
        yield f"{what} is open to every address: no remote prefix or group is given"
    elif hidden(source[0]):
        yield Unchecked("remoteIpPrefix", source[0])
    elif source[0] is not None:
        yield from _open_prefix(str(source[0]), what)


def _open_prefix(prefix: str, what: str) -> Answers:
    try:
        network = ipaddress.ip_network(prefix, strict=False)
    except ValueError:
        yield f"remoteIpPrefix {prefix!r} is not an address range"
        return
    if network.prefixlen < _NARROWEST_OPEN[network.version]:
        yield f"{what} is open to {prefix}: name the addresses that need it, or drop the rule"


def _ports(props: Mapping[str, Any]) -> str:
    low, high = props.get("portRangeMin"), props.get("portRangeMax")
    protocol = props.get("protocol") or "every protocol"
    if low is None or hidden(low) or hidden(high):
        return f"ingress of {protocol}"
    name = "SSH (port 22)" if int(low) <= 22 <= int(high or low) else f"port {low:g}"
    return f"ingress of {name if low == high else f'ports {low:g} to {high or low:g}'}"


def no_secret_in_user_data(resource: Resource, options: Mapping[str, Any]) -> Answers:
    """No credential reaches an instance by its user-data, which any job could read from the metadata service.

    The `allow` list names instances whose boot removes the risk, as our own GitLab runners do: they
    close the metadata route and delete the files before the first job starts.
    """
    data = resource.props.get("userData")
    if resource.type != _INSTANCE or data is None or allowed(resource, options):
        return
    if hidden(data):
        yield Unchecked("userData", data)
        return
    found = kinds(str(data))
    if found:
        yield (
            f"user-data holds {' and '.join(found)}: every job there can read it from the metadata service; "
            "fetch it once at boot, or list the instance under `allow` if its boot closes the metadata route"
        )


def spot_for_ci_pools(resource: Resource, options: Mapping[str, Any]) -> Answers:
    """GPU instances are bought as spot."""
    if resource.type != _INSTANCE or allowed(resource, options):
        return
    flavor: Any = resource.props.get("flavorName")
    if hidden(flavor):
        yield Unchecked("flavorName", flavor)
    elif _is_gpu(flavor, options) and not re.search(options.get("spotFlavor", _SPOT), flavor):
        yield f"flavor {flavor} is on demand; a CI pool should be spot (`market: spot`), which costs less"


def _is_gpu(flavor: Any, options: Mapping[str, Any]) -> bool:
    return bool(flavor) and re.search(options.get("gpuFlavor", "-gpu-"), flavor) is not None


def ownership_marks(resource: Resource, options: Mapping[str, Any]) -> Answers:
    """Whatever can carry the ownership mark does, so that nothing is left without an owner."""
    if allowed(resource, options):
        return
    if resource.type in {_INSTANCE, _VOLUME}:
        metadata = resource.props.get("metadata")
        if hidden(metadata):
            yield Unchecked("metadata", metadata)
        elif not (metadata or {}).get(_MARK):
            yield f"metadata lacks {_MARK}: nobody could tell whose it is; add `ownership.metadata(...)`"
    elif resource.type in _TAGGED:
        yield from _tag_mark(resource.props.get("tags"))


def _tag_mark(tags: Any) -> Answers:
    if hidden(tags):
        yield Unchecked("tags", tags)
    elif not any(str(tag).startswith("deployment=") for tag in tags or ()):
        if UNKNOWN in (tags or ()):
            yield Unchecked("a tag", UNKNOWN)
        else:
            yield "tags lack deployment=<id>: nobody could tell whose it is; add `ownership.tags(...)`"


def boot_volume_goes_with_its_instance(resource: Resource, options: Mapping[str, Any]) -> Answers:
    """A boot volume is deleted with its instance, or it costs money for ever."""
    if resource.type != _INSTANCE or allowed(resource, options):
        return
    devices = resource.props.get("blockDevices")
    if hidden(devices):
        yield Unchecked("blockDevices", devices)
        return
    for number, device in enumerate(devices or ()):
        if device.get("destinationType") != "volume" or device.get("sourceType") == "volume":
            continue
        deletes = device.get("deleteOnTermination")
        if hidden(deletes):
            yield Unchecked(f"blockDevices[{number}].deleteOnTermination", deletes)
        elif deletes is not True:
            yield f"blockDevices[{number}] outlives its instance; set deleteOnTermination"


def quota_fits(resources: Sequence[Resource], options: Mapping[str, Any]) -> Answers:
    """All resources together fit the project's quota."""
    limits = options.get("limits") or {}
    if not limits:
        return
    used, unsized = needs(resources)
    for resource, limit in limits.items():
        if used.get(resource, 0) > limit:
            yield f"{used[resource]} {resource} are needed, the quota is {limit:g}"
    if unsized and {"cores", "ram MiB"} & limits.keys():
        yield Unchecked(f"the size of {', '.join(sorted(unsized))}", UNKNOWN)


def needs(resources: Sequence[Resource]) -> tuple[dict[str, int], set[str]]:
    """What the resources take of each quota, and the names of instances whose size the flavor hides."""
    instances = [r for r in resources if r.type == _INSTANCE]
    volumes = [size for r in instances for size in _boot_sizes(r)]
    volumes += [
        int(r.props.get("size") or 0)
        for r in resources
        if r.type == _VOLUME and not hidden(r.props.get("size"))
    ]
    sizes = {r.name: _SIZE.search(str(r.props.get("flavorName"))) for r in instances}
    known = [match for match in sizes.values() if match]
    return {
        "instances": len(instances),
        "cores": sum(int(match[1]) for match in known),
        "ram MiB": sum(int(match[2]) * 1024 for match in known),
        "volumes": len(volumes),
        "volume GiB": sum(volumes),
        "ports": sum(r.type == "openstack:networking/port:Port" for r in resources),
        "floating IPs": sum(r.type == "openstack:networking/floatingIp:FloatingIp" for r in resources),
    }, {name for name, match in sizes.items() if match is None}


def _boot_sizes(resource: Resource) -> list[int]:
    devices = resource.props.get("blockDevices")
    if not isinstance(devices, list):
        return []
    made = [d for d in devices if d.get("destinationType") == "volume" and d.get("sourceType") != "volume"]
    return [0 if hidden(d.get("volumeSize")) else int(d.get("volumeSize") or 0) for d in made]


_TEXT: Final = {"type": "string"}
RULES: Final = (
    Rule("no-open-ingress", "Nothing is reachable from everywhere.", "mandatory", no_open_ingress),
    Rule(
        "no-secret-in-user-data",
        "No credential in user-data, unless the boot closes the metadata route.",
        "mandatory",
        no_secret_in_user_data,
    ),
    Rule(
        "spot-for-ci-pools",
        "GPU instances are bought as spot.",
        "advisory",
        spot_for_ci_pools,
        {"gpuFlavor": _TEXT, "spotFlavor": _TEXT},
    ),
    Rule(
        "ownership-marks", "Everything that can carry the ownership mark does.", "mandatory", ownership_marks
    ),
    Rule(
        "boot-volume-goes-with-its-instance",
        "A boot volume is deleted with its instance.",
        "mandatory",
        boot_volume_goes_with_its_instance,
    ),
)
"""Rules about one resource."""

STACK_RULES: Final = (
    StackRule(
        "quota-fits",
        "All resources together fit the project's quota.",
        "mandatory",
        quota_fits,
        {"limits": {"type": "object", "additionalProperties": {"type": "number"}}},
    ),
)
"""Rules about the whole stack."""


def check(resources: Sequence[Resource], config: Mapping[str, Any]) -> list[Finding]:
    """Run every rule; `config` has the form of `--policy-pack-config`."""
    found: list[Finding] = []
    for rule in RULES:
        level, options = settings(rule, config)
        for resource in resources if level != "disabled" else ():
            found += [_finding(rule.name, resource.urn, a, level) for a in rule.check(resource, options)]
    for whole in STACK_RULES:
        level, options = settings(whole, config)
        if level != "disabled":
            found += [_finding(whole.name, "", answer, level) for answer in whole.check(resources, options)]
    return found


def settings(rule: Rule | StackRule, config: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    """Level and options of a rule: its own entry first, then `all`, then the rule's default."""
    given = config.get(rule.name, config.get("all", rule.level))
    if isinstance(given, str):
        return given, {}
    return given.get("enforcementLevel", rule.level), given


def _finding(rule: str, urn: str, answer: str | Unchecked, level: Any) -> Finding:
    return Finding(rule, urn, str(answer), level, checked=not isinstance(answer, Unchecked))


__all__ = ["RULES", "SECRET", "STACK_RULES", "UNKNOWN", "check", "needs", "settings"]
