"""Masks secrets in what is stored, printed and commented: more people read reports than a job's settings."""

import os
import re
from collections.abc import Sequence
from typing import Final

MASK: Final = "***"
_LEAST: Final = 8
"""Characters of a variable's value from which it is looked for: shorter ones are words like `false`."""
_VARIABLE: Final = re.compile(
    r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|(?:API|ACCESS|PRIVATE|SIGNING|DEPLOY)_?KEY", re.IGNORECASE
)
_OPTION: Final = re.compile(
    r"-*(?:|.*[-_])(?:api[-_]?key|access[-_]?key|secret(?:[-_]?key)?|passw(?:or)?d"
    r"|(?:access|auth|bearer|hf|job)[-_]token)|-*token",
    re.IGNORECASE,
)
_ADDRESS: Final = re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)")
_HEADER: Final = re.compile(r"(?<=\bBearer )\S+|(?<=\bBasic )\S+")


def mask(text: str) -> str:
    """Return `text` without values of secret variables, and passwords in addresses and headers."""
    for value in _values():
        text = text.replace(value, MASK)
    return _HEADER.sub(MASK, _ADDRESS.sub(MASK, text))


def tail(text: str, most: int) -> str:
    """Return the end of `text`, masked before it is cut: half a secret would not be found."""
    return mask(text)[-most:]


def words(argv: Sequence[str]) -> list[str]:
    """Return a command whose secret options and variables have lost their values."""
    kept: list[str] = []
    secret = False
    for word in argv:
        name, given, _ = word.partition("=")
        hidden = secret and not word.startswith("-")
        secret = not given and word.startswith("-") and _is_option(word)
        kept.append(MASK if hidden else f"{name}={MASK}" if given and _is_option(name) else mask(word))
    return kept


def _is_option(name: str) -> bool:
    return _OPTION.fullmatch(name) is not None


def _values() -> list[str]:
    """Return the secrets in this process's environment, the longest first: one may hold another."""
    found = {
        value
        for name, value in os.environ.items()
        if _VARIABLE.search(name) and len(value) >= _LEAST and not value.startswith("/")
    }
    return sorted(found, key=len, reverse=True)
