"""Command line of the local cloud: up, down, status, reset, logs, fault."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from openstack.exceptions import SDKException

from localcloud import commands, fault_cli, status
from localcloud.openstack import control
from localcloud.paths import log_dir
from localcloud.processes import ServiceError
from localcloud.progress import Progress
from localcloud.world import NoWorldError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; exit code 0 done, 1 failed (the reason is on standard error), 2 wrong usage."""
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except (ServiceError, NoWorldError, OSError, ValueError, SDKException) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; run the same command again to go on\n")
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/localcloud", description=__doc__)
    commands_of = parser.add_subparsers(required=True, metavar="command")
    for name, action, text in (
        ("up", _up, "start what is not running, install what is missing"),
        ("down", _down, "stop everything, keep the state"),
    ):
        chosen = commands_of.add_parser(name, help=text)
        chosen.add_argument("--only", choices=commands.PARTS, nargs="+", default=commands.PARTS)
        chosen.set_defaults(run=action)
    commands_of.add_parser("status", help="what runs, and what tenants have").set_defaults(run=_status)
    again = commands_of.add_parser("reset", help="back to the empty cloud, empty forges and no stack")
    again.set_defaults(run=_reset)
    logs = commands_of.add_parser("logs", help="end of a service's log")
    logs.add_argument("service", nargs="?", help="a name that `status` shows; all logs where left out")
    logs.add_argument("-f", "--follow", action="store_true", help="go on as the log grows")
    logs.set_defaults(run=_logs)
    fault_cli.add(commands_of.add_parser("fault", help="switch faults on and off"))
    return parser


def _up(options: argparse.Namespace) -> int:
    progress = Progress()
    commands.up(progress, options.only)
    progress.say("the local cloud is up")
    return 0


def _down(options: argparse.Namespace) -> int:
    progress = Progress()
    commands.down(progress, options.only)
    progress.say("the local cloud is down")
    return 0


def _status(_options: argparse.Namespace) -> int:
    return 0 if status.show() else 1


def _reset(_options: argparse.Namespace) -> int:
    progress = Progress()
    commands.reset(progress)
    progress.say("the local cloud is empty and up")
    return 0


def _logs(options: argparse.Namespace) -> int:
    # Compared, not globbed: a name could hold a pattern or another folder.
    files = [file for file in sorted(log_dir().glob("*.log")) if options.service in {None, file.stem}]
    if not files:
        known = ", ".join((*control.known(), *commands.PARTS[1:]))
        raise ServiceError(f"no log of {options.service or 'any service'} in {log_dir()}; services: {known}.")
    follow = ["-F"] if options.follow else []
    os.execvp("tail", ["tail", "-n", "40" if options.service else "5", *follow, *map(str, files)])  # noqa: S606


if __name__ == "__main__":
    sys.exit(main())
