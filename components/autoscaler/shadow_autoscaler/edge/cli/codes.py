"""Exit codes."""

from enum import IntEnum


class Exit(IntEnum):
    """What the command's end means."""

    OK = 0
    FAILED = 1
    """Something outside failed: store, secret, cloud or forge."""
    USAGE = 2
    """The command line is wrong."""
    CONFIG = 3
    """The configuration has faults; all are listed."""
    NOT_FOUND = 4
    """No such job, VM or pool."""
    ATTENTION = 5
    """`status`: alarms are up, or a pool asks for no VMs; `repair --dry-run`: rows cannot be read."""


class CommandError(Exception):
    """A command cannot do what was asked; the message says why and what to do."""

    def __init__(self, code: Exit, text: str) -> None:
        super().__init__(text)
        self.code = code
