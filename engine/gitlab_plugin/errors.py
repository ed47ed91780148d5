"""Errors of the plugin: each says what went wrong, at which API call, and the remedy."""

from collections.abc import Iterable, Mapping
from typing import Any


class PluginError(Exception):
    """A message for the user; the engine shows it as it is."""


class ApiError(PluginError):
    """GitLab answered a call with an error status."""

    def __init__(self, status: int, call: str, said: str, remedy: str) -> None:
        super().__init__(f"GitLab answered {status} to {call}: {said}. {remedy}")
        self.status = status
        self.said = said


class LostAnswerError(PluginError):
    """A call was sent and its outcome is not known: GitLab may or may not have acted."""


class PartialError(PluginError):
    """An object exists but is not in its final state; its id and properties must reach the state."""

    def __init__(self, resource_id: str, values: Mapping[str, Any], reason: str) -> None:
        super().__init__(reason)
        self.resource_id = resource_id
        self.values = dict(values)


_REMEDIES = {
    400: "Correct the property that the message names.",
    401: "Give the provider a token that is neither expired nor revoked (config gitlab:token or "
    "GITLAB_TOKEN), and check that gitlab:baseUrl is the instance which issued it.",
    403: "Give the token the scope `api` (for runners `create_runner` and `manage_runner` are enough) "
    "and its user the role Maintainer on the project or Owner on the group; instance runners need an "
    "administrator.",
    404: "Check the project, group or object id; GitLab also answers 404 when the token may not see it.",
    409: "An object of this name exists already: import it (`pulumi import`) or choose another name.",
    422: "Correct the property that the message names.",
    429: "GitLab's rate limit held on after the retries: run again later, or lower `--parallel`.",
}

_EXISTS = "has already been taken"


def remedy(status: int, said: str) -> str:
    """What a user can do about an error answer."""
    if status == 400 and _EXISTS in said:
        return _REMEDIES[409]
    if status >= 500:
        return "GitLab itself failed; look at its status page or logs and run again."
    return _REMEDIES.get(status, "See GitLab's API documentation for this call.")


def masked(text: str, secrets: Iterable[str]) -> str:
    """`text` without any of the given secrets."""
    for secret in sorted({s for s in secrets if len(s) >= 4}, key=len, reverse=True):
        text = text.replace(secret, "[secret]")
    return text
