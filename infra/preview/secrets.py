"""Last guard before anything leaves: whatever looks like a credential or is one of ours is blotted out."""

import os
import re
from collections.abc import Mapping
from typing import Final

_SHAPES: Final = re.compile(
    r"\bgl(?:rt|rtr|pat|ptt|dt|cbt|ft|soat|agent|oas|imt)-[\w.-]{8,}"
    r"|\b(?:gh[pousr]_\w{16,}|github_pat_\w{16,})"
    r"|-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*-----|\Z)"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bwhsec_[\w+/=-]{16,}"
    r"|\bpul-[0-9a-f]{40}\b"
    r"|(?<=://)[^\s/:@]+:[^\s/@]+(?=@)",
    re.DOTALL,
)
_NAMES: Final = re.compile(r"TOKEN|SECRET|PASSW|PASSPHRASE|PRIVATE|CREDENTIAL|API_?KEY", re.IGNORECASE)
_SHORTEST: Final = 6


def redacted(text: str, environment: Mapping[str, str] | None = None) -> str:
    """`text` without credentials, known by their shape or as the value of a secret-looking variable."""
    env = os.environ if environment is None else environment
    values = {value for name, value in env.items() if _NAMES.search(name) and len(value) >= _SHORTEST}
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, "[secret]")
    return _SHAPES.sub("[secret]", text)
