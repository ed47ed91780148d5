"""Reads the command line. Commands are loaded when they are called, so that `--help` is there at once."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from shadow_autoscaler.edge.cli.codes import CommandError, Exit

_DEFAULT_CONFIG = "/etc/shadow-autoscaler/config.yaml"
_EPILOG = """exit codes:
  0  done                              3  the configuration has faults
  1  something outside failed          4  no such job, VM or pool
  2  the command line is wrong         5  status, repair --dry-run: something needs attention
"""
_COMMANDS = {
    "serve": "shadow_autoscaler.edge.cli.serving",
    "status": "shadow_autoscaler.edge.cli.looking",
    "jobs": "shadow_autoscaler.edge.cli.looking",
    "why": "shadow_autoscaler.edge.cli.looking",
    "drain": "shadow_autoscaler.edge.cli.asking",
    "reap": "shadow_autoscaler.edge.cli.asking",
    "replay": "shadow_autoscaler.edge.cli.replaying",
    "repair": "shadow_autoscaler.edge.cli.repairing",
    "config": "shadow_autoscaler.edge.cli.configuring",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        module = importlib.import_module(_COMMANDS[options.command])
        return int(getattr(module, options.command)(options))
    except CommandError as error:
        sys.stderr.write(f"shadow-autoscaler {options.command}: {error}\n")
        return error.code
    except BrokenPipeError:
        # The reader of the output has gone; closing it again must not fail, too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="shadow-autoscaler",
        description="A fresh GPU VM on OpenStack for each CI job, spot first, deleted right after.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    shared = _shared()
    serve = commands.add_parser("serve", parents=[shared], help="run the server until TERM or INT")
    serve.add_argument("--log-level", default="INFO", choices=("DEBUG", "INFO", "WARNING", "ERROR"))
    commands.add_parser("status", parents=[shared, _as_json()], help="show pools, VMs, EUR and alarms")
    jobs = commands.add_parser("jobs", parents=[shared, _as_json()], help="list jobs, waiting ones first")
    jobs.add_argument("--all", action="store_true", help="those that have ended, too")
    why = commands.add_parser("why", parents=[shared, _as_json()], help="say why a job waits")
    why.add_argument("job", metavar="JOB", help="number of the job, or its key as `jobs` shows it")
    _add_asking(commands, shared)
    _add_replay(commands, shared)
    _add_repair(commands, shared)
    _add_config(commands, shared)
    return parser


def _add_asking(commands: Any, shared: argparse.ArgumentParser) -> None:
    drain = commands.add_parser(
        "drain",
        parents=[shared, _as_json()],
        help="take a pool or VM out of use: no new jobs, busy VMs finish",
    )
    drain.add_argument("name", metavar="POOL|VM")
    drain.add_argument("--off", action="store_true", help="put a pool back into use; also ends a hold")
    reap = commands.add_parser(
        "reap", parents=[shared, _as_json()], help="look at cloud and forges now and remove what is left over"
    )
    reap.add_argument("--dry-run", action="store_true", help="only show what is left over now")


def _add_replay(commands: Any, shared: argparse.ArgumentParser) -> None:
    replay = commands.add_parser(
        "replay", parents=[shared, _as_json()], help="have the forges send missed webhooks again"
    )
    replay.add_argument(
        "--since", default="24h", metavar="TIME", help="how far back, such as 90m; default: 24h"
    )


def _add_repair(commands: Any, shared: argparse.ArgumentParser) -> None:
    repair = commands.add_parser(
        "repair", parents=[shared, _as_json()], help="set rows of the store aside that cannot be read"
    )
    repair.add_argument("--dry-run", action="store_true", help="only show them")


def _add_config(commands: Any, shared: argparse.ArgumentParser) -> None:
    config = commands.add_parser("config", help="check the configuration, or describe its form")
    actions = config.add_subparsers(dest="action", required=True, metavar="ACTION")
    check = actions.add_parser("check", parents=[shared, _as_json()], help="list every fault of the file")
    check.add_argument("--no-files", action="store_true", help="leave out files and secrets that it names")
    actions.add_parser("schema", help="print its JSON schema")
    actions.add_parser("reference", help="print a table of every key, in Markdown")


def _shared() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    default = os.environ.get("SHADOW_AUTOSCALER_CONFIG", _DEFAULT_CONFIG)
    shared.add_argument(
        "--config",
        metavar="FILE",
        default=default,
        help=f"default: {_DEFAULT_CONFIG}",
    )
    return shared


def _as_json() -> argparse.ArgumentParser:
    parent = argparse.ArgumentParser(add_help=False)
    parent.add_argument("--json", action="store_true", help="print JSON")
    return parent


def _version() -> str:
    try:
        return version("shadow-autoscaler")
    except PackageNotFoundError:
        return "not installed"
