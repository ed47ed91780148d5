"""The `shadow-perfgate` command; a sub-command's module is loaded when called, so that starting is quick."""

import importlib
import signal
import sys
import traceback
from io import TextIOWrapper

import click

from shadow_perfgate import __version__
from shadow_perfgate.errors import PerfgateError

COMMANDS: dict[str, str] = {
    "init": "init",
    "gate": "gate",
    "run": "run",
    "compare": "compare",
    "baseline": "baseline",
    "history": "history",
    "report": "report",
    "import": "import_results",
    "metrics": "metrics",
}
"""Sub-command → module below `shadow_perfgate.cli` whose `command` it is."""

_INTERNAL = 2
_INTERRUPTED = 130


class LazyGroup(click.Group):
    """A group that imports a sub-command's module on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of a user's way through them."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the sub-command, or None when there is none of that name."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"shadow_perfgate.cli.{COMMANDS[cmd_name]}").command
        assert isinstance(command, click.Command)  # noqa: S101 - holds for every module named above
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="shadow-perfgate")
def cli() -> None:
    """Keep a slower or fatter model out of main.

    Exit codes: 0 pass, 1 regression, 2 invalid input, 3 inconclusive or unfit machine.
    """


def main() -> None:
    """Run the command line; a fault that has a place and a remedy is printed without a traceback."""
    # A cancelled job is told so by SIGTERM: what was started and checked out must go with it.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A locale without arrows must not turn a verdict into a crash.
            stream.reconfigure(errors="replace")
    try:
        sys.exit(cli(prog_name="shadow-perfgate", standalone_mode=False))
    except PerfgateError as error:
        for fault in error.faults:
            click.echo(f"error: {fault}", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        remedy = "check the path, its rights and the space left"
        click.echo(f"error: {place}{error.strerror or error}; {remedy}", err=True)
        sys.exit(_INTERNAL)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(_INTERRUPTED)
    except Exception:  # noqa: BLE001 - Python would end with 1, which means a regression
        traceback.print_exc()
        click.echo(
            "error: this is a fault of shadow-perfgate itself; it says nothing about the change", err=True
        )
        sys.exit(_INTERNAL)
