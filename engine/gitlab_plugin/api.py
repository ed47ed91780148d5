"""Calls to GitLab: one session, bounded retries only where a repeat is harmless, errors with remedies."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

import gitlab
import requests
from gitlab_plugin.config import Config
from gitlab_plugin.errors import ApiError, LostAnswerError, PluginError, masked, remedy
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

TIMEOUT_S: Final = 30.0
_RETRY_AFTER_MAX_S: Final = 60
"""A longer Retry-After would look like a hang; the error says to run again later."""
_PAGE: Final = 100


class _Backoff(Retry):
    """Repeats safe methods on transient faults, and any method on 429: a refused call had no effect.

    A POST whose answer was lost is never repeated here, since GitLab may have acted on it.
    """

    def is_retry(self, method: str, status_code: int, has_retry_after: bool = False) -> bool:
        return status_code == 429 or super().is_retry(method, status_code, has_retry_after)


class Api:
    """GitLab's REST API (version 4) as plain dictionaries."""

    def __init__(self, config: Config) -> None:
        session = requests.Session()
        session.mount("http://", _adapter(config))
        session.mount("https://", _adapter(config))
        if config.client_cert:
            session.cert = (config.client_cert, config.client_key)
        self._config = config
        self._gitlab = gitlab.Gitlab(
            config.base_url,
            oauth_token=config.token,
            ssl_verify=False if config.insecure else (config.cacert_file or True),
            timeout=TIMEOUT_S,
            session=session,
            keep_base_url=True,
        )
        self._gitlab.headers.update(config.headers)

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        """One object."""
        return self._json("GET", path, query=query)

    def find(self, path: str, **query: Any) -> list[dict[str, Any]]:
        """All objects of a list, page by page."""
        found: list[dict[str, Any]] = []
        page = "1"
        while page:
            answer = self._call("GET", path, query={**query, "per_page": _PAGE, "page": page})
            found.extend(answer.json())
            page = answer.headers.get("X-Next-Page", "")
        return found

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Create an object. Raises LostAnswerError when GitLab may have acted without our knowing."""
        return self._json("POST", path, body=body)

    def put(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Change an object."""
        return self._json("PUT", path, body=body)

    def delete(self, path: str, **query: Any) -> None:
        """Delete an object; one that is gone already counts as deleted."""
        try:
            self._call("DELETE", path, query=query)
        except ApiError as error:
            if error.status != 404:
                raise

    def _json(
        self,
        verb: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        answer = self._call(verb, path, query=query, body=body)
        try:
            parsed = answer.json() if answer.content else {}
        except ValueError:
            parsed = None
        if not isinstance(parsed, dict):
            raise PluginError(
                f"{self._where(verb, path)} did not answer with a JSON object. "
                f"Check that gitlab:baseUrl ({self._config.base_url}) is a GitLab instance, "
                "not a login page or proxy."
            )
        return parsed

    def _call(
        self,
        verb: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> requests.Response:
        try:
            return self._gitlab.http_request(
                verb,
                path,
                query_data=dict(query or {}),
                post_data=dict(body) if body is not None else None,
                obey_rate_limit=False,
                retry_transient_errors=False,
                max_retries=0,
            )
        except gitlab.GitlabError as error:
            raise self._refused(verb, path, error, body or {}) from None
        except requests.RequestException as error:
            raise self._unreached(verb, path, error) from None

    def _refused(
        self, verb: str, path: str, error: gitlab.GitlabError, body: Mapping[str, Any]
    ) -> ApiError | LostAnswerError:
        status = error.response_code or 0
        sent = [str(value) for value in body.values() if isinstance(value, str)]
        said = masked(str(error.error_message)[:500], [self._config.token, *_secret_like(body, sent)])
        if verb == "POST" and status >= 500:
            return LostAnswerError(f"{self._where(verb, path)} answered {status}: {said}")
        return ApiError(status, self._where(verb, path), said, remedy(status, said))

    def _unreached(self, verb: str, path: str, error: requests.RequestException) -> PluginError:
        where = self._where(verb, path)
        said = masked(_cause(error), [self._config.token])
        if isinstance(error, requests.exceptions.SSLError):
            return PluginError(
                f"{where}: the TLS certificate was not accepted: {said}. "
                "Give the CA by gitlab:cacertFile (or set gitlab:insecure for a test instance)."
            )
        if (
            verb == "POST"
            and not isinstance(error, requests.exceptions.ConnectTimeout)
            and not _never_sent(error)
        ):
            return LostAnswerError(f"{where}: the connection broke before the answer: {said}")
        return PluginError(
            f"{where}: no answer: {said}. "
            f"Check gitlab:baseUrl ({self._config.base_url}), the network and any proxy."
        )

    def _where(self, verb: str, path: str) -> str:
        return f"{verb} {self._config.base_url}/api/v4{path}"


def path(template: str, **parts: Any) -> str:
    """`template` with each part percent-encoded, so that `group/project` is one path segment."""
    return template.format(**{name: quote(str(value), safe="") for name, value in parts.items()})


def _adapter(config: Config) -> HTTPAdapter:
    return HTTPAdapter(
        max_retries=_Backoff(
            total=config.retries,
            backoff_factor=0.5,
            status_forcelist=frozenset({429, 502, 503, 504}),
            allowed_methods=frozenset({"GET", "HEAD", "PUT", "DELETE"}),
            retry_after_max=_RETRY_AFTER_MAX_S,
            raise_on_status=False,
        )
    )


def _cause(error: BaseException) -> str:
    """The innermost reason, without the layers that requests and urllib3 put around it."""
    for attribute in ("reason", "original_error"):
        inner = getattr(error, attribute, None)
        if isinstance(inner, BaseException):
            return _cause(inner)
    first = error.args[0] if error.args else None
    if isinstance(first, BaseException):
        return _cause(first)
    inner = error.args[1] if len(error.args) > 1 else None
    return _cause(inner) if isinstance(inner, BaseException) else str(error)


def _never_sent(error: requests.RequestException) -> bool:
    reason = getattr(error.args[0], "reason", None) if error.args else None
    return type(reason).__name__ in {"NewConnectionError", "NameResolutionError", "ConnectTimeoutError"}


def _secret_like(body: Mapping[str, Any], sent: list[str]) -> list[str]:
    named = [str(body[name]) for name in ("token", "signing_token", "value") if body.get(name)]
    return [value for value in sent if value in named]
