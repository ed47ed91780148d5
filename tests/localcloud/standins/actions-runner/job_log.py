"""The job's log: stamped lines, secrets masked, workflow commands understood, sent while the job runs."""

from __future__ import annotations

import re
import threading
import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_COMMAND = re.compile(r"^::(?P<name>[\w-]+)(?: (?P<options>[^:]*))?::(?P<text>.*)$")
_SEND_S = 0.5
_ANNOTATIONS = ("error", "warning", "notice", "debug", "group")


class JobLog:
    """Collects lines and hands them to `send` about twice a second."""

    def __init__(self, send: Callable[[str], None], masked: list[str]) -> None:
        self._send = send
        self._masked = [part for secret in masked for part in secret.splitlines() if part.strip()]
        self._pending: list[str] = []
        self._outputs: dict[str, str] = {}
        self._lock = threading.Lock()
        self._sent = time.monotonic()

    def write(self, line: str) -> None:
        """Add one line of output."""
        shown = self._command(line)
        if shown is None:
            return
        for secret in sorted(self._masked, key=len, reverse=True):
            shown = shown.replace(secret, "***")
        stamp = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f0Z")  # noqa: UP017 - runs on Python 3.9
        with self._lock:
            self._pending.append(f"{stamp} {shown}\n")
        if time.monotonic() - self._sent > _SEND_S:
            self.flush()

    def flush(self) -> None:
        """Send what is waiting."""
        with self._lock:
            text, self._pending = "".join(self._pending), []
        self._sent = time.monotonic()
        if text:
            self._send(text)

    def take_outputs(self) -> dict[str, str]:
        """Outputs set by the old `::set-output` command since the last call."""
        found, self._outputs = self._outputs, {}
        return found

    def _command(self, line: str) -> str | None:
        match = _COMMAND.match(line)
        if match is None:
            return line
        name, text = match["name"], match["text"]
        if name == "add-mask":
            self._masked += [text] if text.strip() else []
            return None
        if name == "set-output":
            self._outputs[(match["options"] or "").partition("name=")[2]] = text
            return None
        if name == "endgroup":
            return "##[endgroup]"
        return f"##[{name}]{text}" if name in _ANNOTATIONS else line
