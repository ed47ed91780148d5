"""`gitlab-runner`: a stand-in that speaks GitLab Runner's protocol and runs jobs with its docker executor."""

import sys
from collections.abc import Sequence

from localcloud.standins._gitlab_runner_commands import (
    list_runners,
    register,
    run,
    run_single,
    unregister,
    verify,
    version_text,
)

COMMANDS = {
    "run": run,
    "run-single": run_single,
    "verify": verify,
    "register": register,
    "list": list_runners,
    "unregister": unregister,
}


def main(_program: str, arguments: Sequence[str]) -> int:
    """Run one command; 0 when it did what was asked."""
    words = list(arguments)
    while words and words[0] in {"--debug", "--log-level", "-l", "--log-format"}:
        del words[: 1 if words[0] == "--debug" else 2]
    if not words or words[0] in {"-h", "--help", "help"}:
        sys.stdout.write(f"usage: gitlab-runner <{'|'.join(COMMANDS)}> [options]\n")
        return 0
    if words[0] in {"-v", "--version"}:
        sys.stdout.write(version_text())
        return 0
    command = COMMANDS.get(words[0])
    if command is None:
        sys.stderr.write(f"FATAL: Command {words[0]} not found.\n")
        return 1
    return command(words[1:])
