"""Requests and answers as API gateway (both versions), function URLs and load balancers have them."""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, cast

Event = Mapping[str, Any]


class BadRequestError(Exception):
    """The body is not the base64 that the event claims."""


def path(event: Event) -> str:
    """Return the request's path."""
    return str(event.get("rawPath") or event.get("path") or "")


def headers(event: Event) -> dict[str, str]:
    """Return the headers, names in lower case."""
    return {name.lower(): str(value) for name, value in _part(event, "headers").items()}


def body(event: Event) -> bytes:
    """Return the body as it was sent; signatures are over these bytes."""
    text = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return str(text).encode("utf-8", "surrogateescape")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadRequestError(str(error)) from None


def peer(event: Event) -> str:
    """Return the caller's address."""
    context = _part(event, "requestContext")
    found = _part(context, "http").get("sourceIp") or _part(context, "identity").get("sourceIp")
    return str(found or "")


def answer(
    status: int, document: Mapping[str, object] | None = None, retry_after_s: int | None = None
) -> dict[str, Any]:
    """Return an answer."""
    given = {"content-type": "application/json", "cache-control": "no-store"}
    if retry_after_s is not None:
        given["retry-after"] = str(retry_after_s)
    text = "" if document is None else json.dumps(document, ensure_ascii=False)
    return {"statusCode": status, "headers": given, "body": text, "isBase64Encoded": False}


def _part(event: Event, name: str) -> Event:
    found = event.get(name)
    return cast("Event", found) if isinstance(found, Mapping) else {}
