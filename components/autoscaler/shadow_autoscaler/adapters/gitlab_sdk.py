"""python-gitlab without retries of its own; imported only where GitLab is used."""

import threading
from collections.abc import Mapping
from typing import Any

import gitlab
import requests
from gitlab.exceptions import GitlabError, GitlabHttpError, GitlabParsingError

from shadow_autoscaler.adapters.http_text import clip, message_of, reset_in, seconds_until
from shadow_autoscaler.core.faults import Failure, FailureKind

_KINDS = {
    400: FailureKind.CONFIG,
    401: FailureKind.AUTH,
    403: FailureKind.REFUSED,
    404: FailureKind.REFUSED,
    405: FailureKind.REFUSED,
    409: FailureKind.CONFLICT,
    410: FailureKind.REFUSED,
    422: FailureKind.CONFIG,
}


_NEVER_SENT = (requests.ConnectTimeout, requests.exceptions.SSLError, requests.exceptions.ProxyError)
_CA_REMEDY = "; give the CA bundle that signed the server's certificate, or have the certificate renewed"


class Client:
    """One token's connection pool; safe from several threads."""

    def __init__(self, url: str, token: str, *, timeout_s: float, verify: str | bool) -> None:
        self._gitlab = gitlab.Gitlab(
            url,
            private_token=token,
            ssl_verify=verify,
            timeout=timeout_s,
            user_agent="shadow-autoscaler",
            retry_transient_errors=False,
        )
        # python-gitlab's errors carry no headers, and `Retry-After` is one.
        self._headers = threading.local()
        self._gitlab.session.hooks["response"].append(self._note)

    def _note(self, response: requests.Response, *_: object, **__: object) -> None:
        self._headers.last = response.headers

    def send(
        self, method: str, path: str, params: Mapping[str, Any], body: Mapping[str, Any] | None
    ) -> requests.Response:
        """Send once; raises what `fault_of` understands."""
        return self._gitlab.http_request(
            method, path, dict(params), dict(body) if body else None, obey_rate_limit=False, max_retries=0
        )

    def fault_of(self, error: Exception, call: str, *, write: bool) -> tuple[Failure, int]:
        """Return what went wrong at `call`, and the status, 0 where there was no answer."""
        if isinstance(error, GitlabHttpError | GitlabError) and error.response_code:
            return self._answered(error, call, write=write), error.response_code
        unsent = isinstance(error, _NEVER_SENT) or "NewConnectionError" in repr(error)
        kind = FailureKind.UNKNOWN_OUTCOME if write and not unsent else FailureKind.TRANSIENT
        # requests wraps urllib3's error, which wraps the reason in a sentence about retries.
        reason = getattr(error.args[0], "reason", None) if error.args else None
        remedy = _CA_REMEDY if "certificate verify failed" in str(error) else ""
        return Failure(kind, clip(f"{call}: {type(error).__name__}: {reason or error}{remedy}")), 0

    def _answered(self, error: GitlabError, call: str, *, write: bool) -> Failure:
        status = error.response_code or 0
        message = message_of(error.response_body or str(error.error_message).encode())
        text = clip(f"{call} answered {status}: {message}")
        headers: Mapping[str, str] = getattr(self._headers, "last", {})
        wait = seconds_until(headers.get("retry-after"))
        if status == 429:
            left = wait if wait is not None else reset_in(headers, "ratelimit-reset")
            return Failure(FailureKind.THROTTLED, text, retry_after_s=left)
        if status >= 500:
            kind = FailureKind.UNKNOWN_OUTCOME if write else FailureKind.TRANSIENT
            return Failure(kind, text, retry_after_s=wait)
        return Failure(_KINDS.get(status, FailureKind.REFUSED), text)

    def close(self) -> None:
        """Close all connections."""
        self._gitlab.session.close()


EXPECTED = (GitlabError, GitlabParsingError, requests.RequestException, ValueError)
"""What `send` raises."""
