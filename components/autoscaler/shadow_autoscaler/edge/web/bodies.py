"""Request bodies, never more of them than allowed."""

from starlette.requests import Request


class TooLargeError(Exception):
    """The body is larger than the limit; nothing of it is used."""


async def read(request: Request, limit: int) -> bytes:
    """Return the body; `TooLargeError` as soon as it is known to be larger than `limit` bytes."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise TooLargeError(f"{declared} bytes, at most {limit}")
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise TooLargeError(f"more than {limit} bytes")
        parts.append(part)
    return b"".join(parts)
