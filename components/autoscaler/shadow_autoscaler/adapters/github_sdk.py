"""githubkit with one connection pool for all threads; imported only where GitHub is used (it takes 0.7 s)."""

import ssl
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx
from githubkit import AppAuthStrategy, AppInstallationAuthStrategy, GitHub, TokenAuthStrategy
from githubkit.cache import MemCacheStrategy
from githubkit.response import Response

Auth = TokenAuthStrategy | AppAuthStrategy | AppInstallationAuthStrategy


class _Tokens(MemCacheStrategy):
    """Where githubkit keeps installation tokens until a minute before their end."""

    def clear(self) -> None:
        """Forget them."""
        self._cache = None


class Client(GitHub[Any]):
    """A client that keeps its connections; githubkit's own opens new ones for each call in a thread."""

    def __init__(
        self,
        auth: Auth,
        base_url: str,
        *,
        timeout_s: float,
        verify: ssl.SSLContext | bool = True,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._tokens = _Tokens()
        super().__init__(
            auth,
            base_url=base_url,
            user_agent="shadow-autoscaler",
            timeout=timeout_s,
            ssl_verify=verify,
            transport=transport,
            cache_strategy=self._tokens,
            http_cache=False,
            auto_retry=False,
        )
        self._shared = self._create_sync_client()

    @contextmanager
    def get_sync_client(self) -> Generator[httpx.Client, None, None]:
        """Give the shared client, which is safe from several threads."""
        yield self._shared

    def _check_rate_limit(self, response: Response[Any]) -> None:
        """Leave limits to `github_faults`: a `Retry-After` that is a date breaks githubkit's own check."""

    def send(
        self, method: str, path: str, params: Mapping[str, Any], headers: Mapping[str, str], body: object
    ) -> httpx.Response:
        """Send once; raises what githubkit, httpx or the signing of tokens raise."""
        ask = self.request  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return ask(method, path, params=params, headers=headers, json=body).raw_response

    def sign_out(self) -> None:
        """Have the next call fetch a new installation token."""
        self._tokens.clear()

    def close(self) -> None:
        """Close all connections."""
        self._shared.close()
