"""Finds credentials in text, also inside base64 and gzip as cloud-init's `write_files` has them."""

import base64
import binascii
import re
import zlib
from collections.abc import Iterator
from typing import Final

_KINDS: Final = {
    "GitLab runner token": r"\bgl(?:rt|rtr)-[\w.-]{8,}",
    "GitLab access token": r"\bgl(?:pat|ptt|dt|cbt|ft|soat|agent|oas|imt|rt0)-[\w.-]{8,}",
    "GitHub token": r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,})",
    "private key": r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY",
    "AWS access key": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "webhook signing secret": r"\bwhsec_[\w+/=-]{16,}",
    "OpenStack password": r"(?i)\bOS_(?:PASSWORD|APPLICATION_CREDENTIAL_SECRET)\s*=\s*[^\s$]\S*",
    "password": r"(?im)^\s*(?:-\s*)?(?:plain_text_)?passw(?:or)?d\s*[:=]\s*['\"]?[^\s'\"$]",
    "password list": r"(?m)^\s*chpasswd\s*:",
}
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_DEPTH: Final = 3
_GZIP: Final = 16 + zlib.MAX_WBITS
"""zlib's window setting that accepts gzip headers."""
_INFLATED_BYTES: Final = 1024 * 1024


def kinds(text: str) -> list[str]:
    """Names of the kinds of credentials in `text`, each once."""
    parts = list(_layers(text, _DEPTH))
    return [kind for kind, pattern in _KINDS.items() if any(re.search(pattern, part) for part in parts)]


def _layers(text: str, depth: int) -> Iterator[str]:
    yield text
    if depth == 0:
        return
    for match in _BASE64.finditer(re.sub(r"(?<=[A-Za-z0-9+/])\n\s*(?=[A-Za-z0-9+/=])", "", text)):
        inner = _decoded(match.group())
        if inner:
            yield from _layers(inner, depth - 1)


def _decoded(text: str) -> str:
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (ValueError, binascii.Error):
        return ""
    if raw.startswith(b"\x1f\x8b"):
        try:
            raw = zlib.decompressobj(wbits=_GZIP).decompress(raw, _INFLATED_BYTES)
        except zlib.error:
            return ""
    return raw.decode("utf-8", errors="replace") if _texty(raw) else ""


def _texty(raw: bytes) -> bool:
    sample = raw[:512]
    return bool(sample) and sum(byte < 9 for byte in sample) == 0
