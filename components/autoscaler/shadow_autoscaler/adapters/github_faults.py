"""What went wrong in a call of GitHub's API, and what to do about it."""

from dataclasses import dataclass, replace
from typing import Final

import httpx
from githubkit.exception import RequestFailed

from shadow_autoscaler.adapters.http_text import clip, message_of, reset_in, seconds_until
from shadow_autoscaler.core.faults import Failure, FailureKind

_NEVER_SENT: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)
_KINDS: Final = {
    401: FailureKind.AUTH,
    403: FailureKind.REFUSED,
    404: FailureKind.REFUSED,
    409: FailureKind.CONFLICT,
    410: FailureKind.REFUSED,
    422: FailureKind.CONFIG,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """A failed call; `status` is 0 where there was no answer."""

    failure: Failure
    status: int = 0
    resource: str = ""
    """Limit that was met, as GitHub names it; empty for a secondary limit, which is on every call."""

    def after(self, seconds: float) -> "Fault":
        """Return the same with the time to wait."""
        return replace(self, failure=replace(self.failure, retry_after_s=seconds))


def fault_of(error: Exception, call: str, *, write: bool) -> Fault:
    """Classify what githubkit raised at `call`, such as `POST /orgs/acme/…`."""
    # githubkit wraps what httpx, the signing of tokens and a failed sign-in raise, and keeps it as the cause.
    cause = error if isinstance(error, RequestFailed) else error.__cause__ or error
    if isinstance(cause, RequestFailed):
        return _answered(cause.response.raw_response, call, write=write)
    if isinstance(cause, httpx.TransportError):
        return Fault(_unanswered(cause, call, write=write))
    text = f"{call}: the credential cannot be used: {type(cause).__name__}: {cause}"
    return Fault(Failure(FailureKind.AUTH, clip(text)))


def _answered(response: httpx.Response, call: str, *, write: bool) -> Fault:
    asked = f"{response.request.method} {response.request.url.path}"
    # The sign-in is a call of its own inside ours: where it fails, ours was never sent.
    sign_in = response.request.url.path.endswith("/access_tokens")
    answer = f"answered {response.status_code}: {message_of(response.content)}{_wanted(response)}"
    text = clip(f"{asked if sign_in else call} {answer}")
    if limit := _limit(response, text):
        return limit
    status = response.status_code
    if status >= 500:
        unknown = write and not sign_in
        kind = FailureKind.UNKNOWN_OUTCOME if unknown else FailureKind.TRANSIENT
        return Fault(Failure(kind, text, seconds_until(response.headers.get("retry-after"))), status)
    if status == 422 and "max limit" in text:
        return Fault(Failure(FailureKind.QUOTA, text, resource="runners"), status)
    kind = FailureKind.AUTH if sign_in else _KINDS.get(status, FailureKind.REFUSED)
    return Fault(Failure(kind, text), status)


def _wanted(response: httpx.Response) -> str:
    permissions = response.headers.get("x-accepted-github-permissions")
    return f"; it wants {permissions}" if permissions and response.status_code == 403 else ""


def _limit(response: httpx.Response, text: str) -> Fault | None:
    """A primary or secondary limit, by the signs that GitHub documents and by its wording."""
    if response.status_code not in {403, 429}:
        return None
    headers, wait = response.headers, seconds_until(response.headers.get("retry-after"))
    secondary = "secondary rate" in text.casefold() or "abuse" in text.casefold()
    if wait is None and not secondary and headers.get("x-ratelimit-remaining") == "0":
        wait = reset_in(headers, "x-ratelimit-reset")
        failure = Failure(FailureKind.THROTTLED, text, retry_after_s=wait)
        return Fault(failure, response.status_code, headers.get("x-ratelimit-resource", "core"))
    if wait is None and not secondary and response.status_code == 403:
        return None
    return Fault(Failure(FailureKind.THROTTLED, text, retry_after_s=wait), response.status_code)


def _unanswered(error: httpx.TransportError, call: str, *, write: bool) -> Failure:
    reason = clip(f"{call}: {type(error).__name__}: {error}")
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        remedy = "give the CA bundle that signed the forge's certificate, or have the certificate renewed"
        return Failure(FailureKind.TRANSIENT, clip(f"{call}: {error}; {remedy}"))
    sent = write and not isinstance(error, _NEVER_SENT)
    asked = str(error.request.url.path) if _has_request(error) else ""
    if asked.endswith("/access_tokens"):
        sent = False
    return Failure(FailureKind.UNKNOWN_OUTCOME if sent else FailureKind.TRANSIENT, reason)


def _has_request(error: httpx.TransportError) -> bool:
    try:
        return bool(error.request)
    except RuntimeError:
        return False
