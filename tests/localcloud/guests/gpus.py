"""Which GPUs a server has, by its flavor's name, and the faults that they can show."""

import re

_MODELS = {
    "2000": ("NVIDIA RTX 2000 Ada Generation", 16380),
    "a4500": ("NVIDIA RTX A4500", 20470),
    "4500": ("NVIDIA RTX A4500", 20470),
    "1080": ("NVIDIA GeForce GTX 1080", 8192),
}
_OTHER = ("NVIDIA GPU", 16384)
_NAME = re.compile(r"-gpu-(?P<model>[a-z0-9]+)-(?P<count>\d+)$")
FAULTS = (
    "missing",
    "exit9",
    "late:SECONDS",
    "err",
    "one-of-two",
    "hang",
    "driver-mismatch",
    "container-only",
    "daemon-reload",
)


def of_flavor(flavor: str) -> dict[str, object]:
    """Model, memory (MiB) and number of a flavor's GPUs; number 0 for a flavor without."""
    found = _NAME.search(flavor.lower())
    if found is None:
        return {"model": "", "memory_mib": 0, "count": 0}
    key = found["model"].removeprefix("rtx")
    model, memory = _MODELS.get(key, _OTHER)
    return {"model": model, "memory_mib": memory, "count": int(found["count"])}


def check_fault(name: str) -> str:
    """The fault's name as it is.

    Raises:
        ValueError: there is no such fault.
    """
    kind, _, seconds = name.partition(":")
    known = {fault.partition(":")[0]: ":" in fault for fault in FAULTS}
    if name and (kind not in known or known[kind] != bool(re.fullmatch(r"\d+(\.\d+)?", seconds))):
        raise ValueError(f"{name!r} is no GPU fault: expected one of {', '.join(FAULTS)}, or '' for none.")
    return name
