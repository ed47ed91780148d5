"""The error answers of the REST API, in GitHub's own wording."""

from collections.abc import Mapping

DOCS = "https://docs.github.com/rest"
_SECONDARY_DOCS = (
    "https://docs.github.com/free-pro-team@latest/rest/overview/"
    "rate-limits-for-the-rest-api#about-secondary-rate-limits"
)


class ApiError(Exception):
    """An answer with a status of 400 or more."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        errors: list[object] | None = None,
        documentation_url: str = DOCS,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = errors
        self.documentation_url = documentation_url
        self.headers = dict(headers or {})

    def body(self) -> dict[str, object]:
        """JSON document of the answer."""
        found: dict[str, object] = {"message": self.message, "documentation_url": self.documentation_url}
        if self.errors is not None:
            found["errors"] = self.errors
        return {**found, "status": str(self.status)}


def not_found() -> ApiError:
    """404, also for what the caller may not see."""
    return ApiError(404, "Not Found")


def bad_credentials() -> ApiError:
    """401 for a token that is unknown, expired or revoked."""
    return ApiError(401, "Bad credentials")


def requires_authentication() -> ApiError:
    """401 for an anonymous call of what needs an account."""
    return ApiError(401, "Requires authentication")


def not_for_integration() -> ApiError:
    """403 for an installation token without the permission."""
    return ApiError(403, "Resource not accessible by integration")


def missing_scope() -> ApiError:
    """403 for a personal access token without the scope, or a user without the role."""
    return ApiError(403, "Must have admin rights to Repository.")


def invalid_field(resource: str, field: str, message: str | None = None, code: str = "invalid") -> ApiError:
    """422 `Validation Failed` about one field."""
    detail: dict[str, object] = {"resource": resource, "code": code, "field": field}
    if message is not None:
        detail["message"] = message
    return ApiError(422, "Validation Failed", errors=[detail])


def missing_key(name: str) -> ApiError:
    """422 of the request schema: a required key is absent."""
    return ApiError(422, f"Invalid request.\n\nobject is missing required key: {name}")


def wrong_type(name: str, value: object, expected: str) -> ApiError:
    """422 of the request schema: a value has another type or is out of its range."""
    return ApiError(422, f"Invalid request.\n\nFor '{name}', {value!r} is not {expected}.")


def primary_limit(who: str, headers: Mapping[str, str]) -> ApiError:
    """403 after the last call of the hour."""
    return ApiError(403, f"API rate limit exceeded for {who}.", headers=headers)


def secondary_limit(retry_after_s: int) -> ApiError:
    """403 for too many calls in a short time."""
    return ApiError(
        403,
        "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
        documentation_url=_SECONDARY_DOCS,
        headers={"Retry-After": str(retry_after_s)},
    )
