"""Structured logs: one JSON object per line, without secrets."""

import json
import logging
import re
import sys
import threading
from datetime import UTC, datetime
from typing import Any, TextIO

HIDDEN = "[hidden]"
_SHAPES = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:gh[pousr]_|github_pat_|gl(?:pat|rt|ptt|dt|rtr)-|whsec_)[A-Za-z0-9_=.+/-]{8,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+){0,2}"
    r"|(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{8,}"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)",
    re.DOTALL,
)
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


class Redactor:
    """Takes secrets out of texts: those of a known shape, and every value that was read as a secret."""

    def __init__(self) -> None:
        self._values: frozenset[str] = frozenset()
        self._lock = threading.Lock()

    def learn(self, value: str) -> None:
        """Hide this value from now on; very short ones would hide ordinary text and are left."""
        if len(value) >= 8 and value not in self._values:
            with self._lock:
                self._values |= {value}

    def clean(self, text: str) -> str:
        """Return the text without secrets."""
        for value in self._values:
            text = text.replace(value, HIDDEN)
        return _SHAPES.sub(HIDDEN, text)


class JsonFormatter(logging.Formatter):
    """Writes `at`, `level`, `logger`, `message`, what was given as `extra`, and the trace of an exception."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._redactor.clean(record.getMessage()),
        }
        for key, value in vars(record).items():
            if key not in _STANDARD:
                plain = value if isinstance(value, int | float | bool | None) else str(value)
                line[key] = self._redactor.clean(plain) if isinstance(plain, str) else plain
        if record.exc_info:
            line["trace"] = self._redactor.clean(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


def configure(redactor: Redactor, level: str = "INFO", stream: TextIO | None = None) -> None:
    """Send every logger's lines to `stream`, standard error by default."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter(redactor))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for chatty in ("httpx", "httpcore", "urllib3", "keystoneauth", "openstack", "stevedore", "githubkit"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
