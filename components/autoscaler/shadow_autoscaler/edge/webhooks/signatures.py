"""Signatures and tokens, compared in constant time. No expected digest ever leaves this module."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable, Sequence

TOLERANCE_S = 300.0
"""How far the timestamp of a signed hook may be off."""


def github(body: bytes, signature: str, secrets: Sequence[str]) -> int | None:
    """Return which secret signed `body`, 0 for the current one; None when none did.

    `signature` is the header `X-Hub-Signature-256`: `sha256=` and 64 hexadecimal digits.
    """
    if not signature.startswith("sha256="):
        return None
    given = signature.removeprefix("sha256=").encode("utf-8", "surrogateescape")
    digests = (hmac.new(secret.encode(), body, hashlib.sha256).hexdigest().encode() for secret in secrets)
    return _which(given, digests)


def token(given: str, secrets: Sequence[str]) -> int | None:
    """Return which secret was sent as it is, as `X-Gitlab-Token`."""
    return _which(given.encode("utf-8", "surrogateescape"), (secret.encode() for secret in secrets))


def signed_hook(
    hook_id: str, timestamp: str, body: bytes, signatures: str, secrets: Sequence[str]
) -> int | None:
    """Return which secret signed a GitLab hook: HMAC-SHA256 over `id.timestamp.body`, `v1,` and base64.

    Several signatures may be given, apart by spaces; a secret is `whsec_` and base64.
    """
    message = f"{hook_id}.{timestamp}.".encode("utf-8", "surrogateescape") + body
    given = [part.removeprefix("v1,") for part in signatures.split() if part.startswith("v1,")]
    digests = [base64.b64encode(hmac.digest(_key(secret), message, hashlib.sha256)) for secret in secrets]
    found = [_which(part.encode("utf-8", "surrogateescape"), digests) for part in given]
    return next((number for number in found if number is not None), None)


def fresh(timestamp: str, now: float) -> bool:
    """Whether a signed hook's timestamp is near enough to now."""
    return timestamp.isascii() and timestamp.isdecimal() and abs(now - int(timestamp)) <= TOLERANCE_S


def _key(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        return secret.encode()


def _which(given: bytes, expected: Iterable[bytes]) -> int | None:
    # Every candidate is compared, so that time tells nothing about which one matched.
    matches = [hmac.compare_digest(given, candidate) for candidate in expected]
    return matches.index(True) if True in matches else None
