"""Tells a credential by its shape, wherever it may have been typed by mistake."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

SHAPES: Final = re.compile(
    r"\bgl(?:rt|rtr|pat|ptt|dt|cbt|ft|soat|agent|oas|imt)-[\w.-]{8,}"
    r"|\b(?:gh[pousr]_\w{16,}|github_pat_\w{16,})"
    r"|-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*-----|\Z)"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bwhsec_[\w+/=-]{16,}"
    r"|\bpul-[0-9a-f]{40}\b"
    r"|(?<=://)[^\s/:@]+:[^\s/@]+(?=@)",
    re.DOTALL,
)
"""Tokens of the forges, clouds and Pulumi, private keys, and passwords inside addresses."""


def places(value: object, path: str) -> Iterator[str]:
    """Yield the path of each text below `value` that holds a credential, and of each key that is one."""
    if isinstance(value, str):
        if SHAPES.search(value):
            yield path
    elif isinstance(value, Mapping):
        for key, part in cast("Mapping[str, Any]", value).items():
            yield from [f"{path} (a key)"] if SHAPES.search(str(key)) else places(part, f"{path}.{key}")
    elif isinstance(value, list):
        for index, part in enumerate(cast("Iterable[Any]", value)):
            yield from places(part, f"{path}[{index}]")
