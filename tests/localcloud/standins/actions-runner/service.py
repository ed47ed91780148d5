"""Talks to the simulated GitHub, with nothing but the standard library."""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VERSION = os.environ.get("ACTIONS_RUNNER_VERSION", "2.335.0")
# A proxy from the environment must not see loopback traffic.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class ServiceError(Exception):
    """The service refused; `status` 0 means that it could not be reached."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Service:
    """One address, with the session token once there is one."""

    url: str
    token: str = ""

    def call(self, method: str, path: str, body: dict[str, Any] | None = None, timeout: float = 30) -> Any:
        """JSON answer of a call, None where it has no content.

        Raises:
            ServiceError: a status of 400 or more, or no answer.
        """
        data = None if body is None else json.dumps(body).encode()
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"GitHubActionsRunner-linux-x64/{VERSION}",
        }
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(f"{self.url}/_runner{path}", data, headers, method=method)  # noqa: S310
        try:
            with _OPENER.open(request, timeout=timeout) as answer:
                raw = answer.read()
        except urllib.error.HTTPError as error:
            raise ServiceError(error.code, _message(error)) from error
        except (urllib.error.URLError, OSError) as error:
            raise ServiceError(0, f"Cannot reach {self.url}: {error}") from error
        return json.loads(raw) if raw else None


def _message(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read())["message"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {error.code}"


def say(text: str) -> None:
    """Print at once: the console is read while the runner lives."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def complain(text: str) -> None:
    """Print to standard error."""
    sys.stderr.write(f"{text}\n")


def root() -> Path:
    """Folder of the runner's files: that of the scripts, or the current one where that is read-only."""
    chosen = Path(os.environ.get("RUNNER_STANDIN_ROOT", "."))
    return chosen if os.access(chosen, os.W_OK) else Path.cwd()
