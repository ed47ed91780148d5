"""Last guard before anything leaves: whatever looks like a credential or is one of ours is blotted out."""

import json
import os
import re
from collections.abc import Mapping
from typing import Final

from credentials import SHAPES

from preview.markdown import code, plain

_NAMES: Final = re.compile(r"TOKEN|SECRET|PASSW|PASSPHRASE|PRIVATE|CREDENTIAL|API_?KEY", re.IGNORECASE)
_PROPERTY: Final = re.compile(_NAMES.pattern + r"|PASS(?:$|[._\[])", re.IGNORECASE)
_SHORTEST: Final = 6


def names_secret(path: str) -> bool:
    """Whether a property's path sounds like a credential, so that its value stays hidden even unmarked."""
    return _PROPERTY.search(path) is not None


def redacted(text: str, environment: Mapping[str, str] | None = None) -> str:
    """`text` without credentials, known by their shape or as the value of a secret-looking variable."""
    env = os.environ if environment is None else environment
    values = {value for name, value in env.items() if _NAMES.search(name) and len(value) >= _SHORTEST}
    # Markdown and JSON write some characters differently.
    values |= {
        form for value in values for form in (plain(value), code(value)[1:-1], json.dumps(value)[1:-1])
    }
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, "[secret]")
    return SHAPES.sub("[secret]", text)
