"""Refusals in the shapes GitLab answers with."""

from typing import Any


class ApiError(Exception):
    """A request that is refused with `status` and a JSON `body`."""

    def __init__(self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        super().__init__(f"{status} {body}")
        self.status = status
        self.body = body
        self.headers = headers or {}


def unauthorized() -> ApiError:
    """No valid token."""
    return ApiError(401, {"message": "401 Unauthorized"})


def invalid_token(reason: str) -> ApiError:
    """A token that was valid once."""
    return ApiError(401, {"error": "invalid_token", "error_description": reason})


def insufficient_scope(scopes: tuple[str, ...]) -> ApiError:
    """A valid token that lacks all of `scopes`."""
    text = "The request requires higher privileges than provided by the access token."
    return ApiError(
        403, {"error": "insufficient_scope", "error_description": text, "scope": " ".join(scopes)}
    )


def forbidden(reason: str = "", headers: dict[str, str] | None = None) -> ApiError:
    """Signed in, but not allowed."""
    return ApiError(403, {"message": "403 Forbidden" + (f" - {reason}" if reason else "")}, headers)


def not_found(what: str = "") -> ApiError:
    """No such thing, or one that the caller may not see."""
    return ApiError(404, {"message": f"404 {what} Not Found" if what else "404 Not found"})


def bad_request(reason: str) -> ApiError:
    """A request that breaks a rule of the model."""
    return ApiError(400, {"message": f"400 Bad request - {reason}"})


def invalid(**fields: list[str]) -> ApiError:
    """Field values that a record can't take."""
    return ApiError(400, {"message": fields})


def missing_or_wrong(problems: list[str]) -> ApiError:
    """Parameters that are missing or of the wrong kind, all named."""
    return ApiError(400, {"error": ", ".join(problems)})


def refused(status: int, message: Any) -> ApiError:
    """Any other status with a message."""
    return ApiError(status, {"message": message})
