"""Turns the inputs of an instance group into its places, or reports every fault of them together."""

import base64
import re
from collections.abc import Mapping, MutableMapping
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from shadow_gpu_runners import _known, _market, ownership
from shadow_gpu_runners._market import MARKETS, Slot
from shadow_gpu_runners._validation import Problems, whole
from shadow_gpu_runners.catalog import BOOT_VOLUME_GIB
from shadow_gpu_runners.prices import HIGHEST_EUR_PER_HOUR, is_price
from shadow_gpu_runners.spot import SpotNames

if TYPE_CHECKING:
    from shadow_gpu_runners.instance_group import InstanceGroupArgs

USER_DATA_LIMIT = 65535
"""Bytes of user-data after base64 that Nova takes."""

METADATA_CHARS = 255
"""Characters of a key and of a value that Nova takes as server metadata."""

AFFINITIES = ("soft", "strict", "none")
# A server's name becomes its host name: RFC 1123, 63 characters with "-01".
_PREFIX = re.compile(r"[a-z]([a-z0-9-]{0,56}[a-z0-9])?")
_MARK = re.compile(r"[A-Za-z0-9._-]{0,200}")
_DURATION = re.compile(r"([0-9]+(h|m|s))+")


def check_kinds(name: str, args: "InstanceGroupArgs", spec: type) -> None:
    """Raise with every key and kind of `args` that is not as `spec` declares it."""
    _known.check_kinds(Problems(f"InstanceGroup {name!r}"), args, spec)


def plan(
    name: str, args: "InstanceGroupArgs", taken: MutableMapping[str, str]
) -> tuple[list[Slot], SpotNames]:
    """Return the group's places and its naming of spot twins; raises with every fault of `args`.

    `taken` has the group of each instance name in the same cloud; this group's names are added.
    """
    problems = Problems(f"InstanceGroup {name!r}")
    twins = _market.spot_names(problems, args.get("spot_rule"), args.get("spot_names"))
    names = _names(problems, name, args)
    _check_unique(problems, name, names, taken)
    _check_market(problems, args, twins, names)
    _check_boot(problems, args)
    _check_choices(problems, args, len(names))
    _check_values(problems, args)
    problems.raise_if_any()
    taken.update(dict.fromkeys(names, name))
    slots = _market.slots(
        names=names,
        flavor=args["flavor"],
        market=args.get("market", MARKETS[0]),
        fallback=args.get("on_demand_fallback", []),
        zones=args.get("zones", []),
        twins=twins,
        max_unavailable=whole(args.get("max_unavailable", _market.half(len(names)))),
    )
    return slots, twins


def flavors_to_find(args: "InstanceGroupArgs", slots: list[Slot]) -> list[str]:
    """Return the flavors that the group boots, and the one that it may fall back to."""
    fallback = [args["flavor"]] if args.get("market") == "spot-then-on-demand" else []
    return list(dict.fromkeys([*(slot.flavor for slot in slots), *fallback]))


def _names(problems: Problems, name: str, args: "InstanceGroupArgs") -> list[str]:
    prefix = args.get("name_prefix", name)
    if not _PREFIX.fullmatch(prefix):
        problems.add(
            "namePrefix", prefix, "up to 58 lower-case letters, digits and dashes", "set one; it names hosts"
        )
    count = args["count"]
    if count < 0 or count != int(count):
        problems.add("count", count, "a whole number from 0", "mend it")
        return []
    return _market.instance_names(prefix, int(count))


def _check_unique(problems: Problems, group: str, names: list[str], taken: Mapping[str, str]) -> None:
    others = [name for name in names if taken.get(name, group) != group]
    if others:
        problems.add(
            "namePrefix",
            others[0].rpartition("-")[0],
            f"names that no other group has: InstanceGroup {taken[others[0]]!r} has {', '.join(others)}, too",
            "give one of the two groups another namePrefix",
        )


def _check_market(problems: Problems, args: "InstanceGroupArgs", twins: SpotNames, names: list[str]) -> None:
    market = args.get("market", MARKETS[0])
    problems.one_of("market", market, MARKETS)
    on_demand = twins.on_demand_name(args["flavor"])
    if on_demand is not None:
        problems.add(
            "flavor", args["flavor"], "the on-demand name", f"write {on_demand!r}, market does the rest"
        )
    fallback = args.get("on_demand_fallback", [])
    if fallback and market != "spot-then-on-demand":
        problems.add(
            "onDemandFallback", fallback, "nothing in this market", "set market to 'spot-then-on-demand'"
        )
    for index, wanted in enumerate(fallback):
        if wanted not in names:
            problems.add(f"onDemandFallback[{index}]", wanted, f"one of {', '.join(names)}", "remove it")


def _check_boot(problems: Problems, args: "InstanceGroupArgs") -> None:
    if "boot_volume" in args and args.get("local_disk"):
        problems.add("localDisk", value=True, expected="no bootVolume beside it", remedy="remove one of them")
    size = args.get("boot_volume", {}).get("size_gib", BOOT_VOLUME_GIB)
    if size < 1 or size != int(size):
        problems.add("bootVolume.sizeGib", size, "a whole number of GiB from 1", "mend it")
    user_data = args.get("user_data")
    if isinstance(user_data, str):
        check_user_data(problems, user_data)


def _check_choices(problems: Problems, args: "InstanceGroupArgs", count: int) -> None:
    problems.one_of("antiAffinity", args.get("anti_affinity", "soft"), AFFINITIES)
    unavailable = args.get("max_unavailable", 1)
    if not 1 <= unavailable <= max(count, 1):
        problems.add("maxUnavailable", unavailable, f"1 to {max(count, 1)}", "leave it out for half")
    if not args["security_group_ids"]:
        problems.add("securityGroupIds", [], "at least one", "give RunnerNetwork's securityGroupId")
    for key, text in (("create", args.get("create_timeout")), ("delete", args.get("delete_timeout"))):
        if text is not None and not _DURATION.fullmatch(text):
            problems.add(f"{key}Timeout", text, "a duration like '20m'", "mend it")


def _check_values(problems: Problems, args: "InstanceGroupArgs") -> None:
    for flavor, text in args.get("prices", {}).items():
        if not _is_money(text):
            expected = f"EUR per hour like '0.35', at most {HIGHEST_EUR_PER_HOUR}"
            problems.add(f"prices.{flavor}", text, expected, "mend it")
    reserved = ownership.metadata("", "")
    for key, value in args.get("metadata", {}).items():
        if key in reserved:
            problems.add(f"metadata.{key}", key, "a key that no ownership mark has", "rename it")
        if not 1 <= len(key) <= METADATA_CHARS:
            problems.add(
                f"metadata.{key[:20]}…",
                f"{len(key)} characters",
                f"a key of 1 to {METADATA_CHARS}",
                "shorten it",
            )
        if isinstance(value, str):
            check_metadata(problems, value, key)
    mark = args.get("deployment", "")
    if not _MARK.fullmatch(mark):
        problems.add(
            "deployment",
            mark,
            "up to 200 letters, digits, dots, dashes and underscores",
            "set another; it becomes a tag",
        )


def check_metadata(problems: Problems, value: str, key: str) -> None:
    """Note a value that is longer than Nova takes; it is not shown."""
    if len(value) > METADATA_CHARS:
        expected = f"at most {METADATA_CHARS} characters, not {len(value)}"
        problems.add_hidden(f"metadata.{key}", expected, "shorten it, or let machines fetch it at boot")


def _is_money(text: str) -> bool:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        return False
    return is_price(amount)


def check_user_data(problems: Problems, text: str) -> None:
    """Note a fault when user-data is longer than Nova takes; the text is not shown."""
    size = len(base64.b64encode(text.encode()))
    if size > USER_DATA_LIMIT:
        problems.add_hidden(
            "userData",
            f"at most {USER_DATA_LIMIT} bytes after base64, not {size}",
            "fetch files at boot",
        )
