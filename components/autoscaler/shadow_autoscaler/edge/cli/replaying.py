"""`replay`: have the forges send missed webhooks again."""

import argparse
import sys
import time

from shadow_autoscaler.edge import adapters
from shadow_autoscaler.edge.cli.codes import CommandError, Exit
from shadow_autoscaler.edge.cli.opening import base, emit
from shadow_autoscaler.edge.config.kinds import seconds


def replay(options: argparse.Namespace) -> int:
    """Ask each forge for the deliveries that failed since a while ago."""
    ago = seconds(options.since)
    if not isinstance(ago, float):
        raise CommandError(Exit.USAGE, f"--since {options.since!r}: expected 90s, 15m, 2h or 1d")
    with base(options) as opened:
        forges = adapters.forges(opened.config, opened.secrets, tuple)
        counts = {kind.value: forge.redeliver(time.time() - ago) for kind, forge in forges.items()}
    if options.json:
        emit(counts)
    for forge, count in counts.items() if not options.json else ():
        sys.stdout.write(f"{forge}: {count} missed webhook(s) asked for again\n")
    return Exit.OK
