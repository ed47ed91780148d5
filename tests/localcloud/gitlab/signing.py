"""The signature of a webhook, made with its signing token."""

import base64
import binascii
import hashlib
import hmac

PREFIX = "whsec_"


def key_of(signing_token: str) -> bytes:
    """The secret bytes in a signing token; raises `ValueError` for one that isn't `whsec_` and base64."""
    if not signing_token.startswith(PREFIX):
        raise ValueError("a signing token starts with whsec_")
    try:
        return base64.b64decode(signing_token.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        raise ValueError("a signing token is whsec_ followed by base64") from None


def signature(signing_token: str, message_id: str, timestamp: str, body: bytes) -> str:
    """`v1,` and the base64 HMAC-SHA256 over id, timestamp and body joined by dots."""
    content = f"{message_id}.{timestamp}.".encode() + body
    digest = hmac.new(key_of(signing_token), content, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()
