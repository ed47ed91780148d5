"""Request bodies, never more of them than allowed."""

import asyncio

from starlette.requests import ClientDisconnect, Request

BODY_S = 30.0
"""How long a body may take; a sender that dawdles counts as gone and holds no connection."""


class TooLargeError(Exception):
    """The body is larger than the limit; nothing of it is used."""


async def read(request: Request, limit: int) -> bytes:
    """Return the body; `TooLargeError` as soon as it is larger than `limit`, `ClientDisconnect` when late."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise TooLargeError(f"{declared} bytes, at most {limit}")
    try:
        async with asyncio.timeout(BODY_S):
            return await _collect(request, limit)
    except TimeoutError:
        raise ClientDisconnect from None


async def _collect(request: Request, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise TooLargeError(f"more than {limit} bytes")
        parts.append(part)
    return b"".join(parts)
