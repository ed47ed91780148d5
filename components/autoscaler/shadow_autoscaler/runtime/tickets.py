"""What a VM brings along: its ticket, and the user-data with which it boots."""

import base64
import hashlib
import hmac
from collections.abc import Sequence


def ticket(key: str, vm: str) -> str:
    """Return the ticket that authenticates a VM's callbacks."""
    digest = hmac.digest(key.encode(), vm.encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def valid(keys: Sequence[str], vm: str, given: str) -> bool:
    """Whether a ticket is the VM's, under the current key or, in a rotation, the former one."""
    given_bytes = given.encode("utf-8", "surrogateescape")
    matches = [hmac.compare_digest(ticket(key, vm).encode(), given_bytes) for key in keys]
    return any(matches)


def render(template: str, *, vm: str, key: str, callback_url: str) -> str:
    """Return the user-data of one VM from its pool's template."""
    return (
        template.replace("@SHADOW_VM@", vm)
        .replace("@SHADOW_TICKET@", ticket(key, vm))
        .replace("@SHADOW_CALLBACK@", callback_url.rstrip("/"))
    )
