"""What functions keep between calls of one instance."""

import os
import time
from functools import cache
from pathlib import Path
from typing import Protocol

from shadow_autoscaler.edge import adapters
from shadow_autoscaler.edge.config import Config, load
from shadow_autoscaler.edge.logs import Redactor, configure
from shadow_autoscaler.ports import Queue, Secrets

MARGIN_S = 3.0
"""Time kept for the answer at the end of a call."""


class Context(Protocol):
    """What Lambda tells about a call."""

    def get_remaining_time_in_millis(self) -> int:
        """Return the time left."""
        ...


@cache
def redactor() -> Redactor:
    """Return the log's redactor."""
    made = Redactor()
    configure(made, os.environ.get("SHADOW_AUTOSCALER_LOG_LEVEL", "INFO"))
    return made


@cache
def file() -> Path:
    """Return where the configuration lies."""
    return Path(os.environ.get("SHADOW_AUTOSCALER_CONFIG", "/var/task/autoscaler.yaml"))


@cache
def config() -> Config:
    """Return the configuration."""
    redactor()
    return load(file(), files=False)


@cache
def secrets() -> Secrets:
    """Return where secrets come from."""
    return adapters.secrets(config(), file().parent, redactor())


@cache
def queue() -> Queue:
    """Return the queue to the worker."""
    found = adapters.queue(config())
    if found is None:
        raise LookupError(f"{file()}: queue is missing; functions need one: add queue.url")
    return found


def deadline(context: Context) -> float:
    """Return until when the call may work."""
    return time.time() + context.get_remaining_time_in_millis() / 1000 - MARGIN_S
