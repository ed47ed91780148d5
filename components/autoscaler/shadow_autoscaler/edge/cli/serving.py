"""`serve`."""

import argparse

from shadow_autoscaler.edge.cli.codes import CommandError, Exit
from shadow_autoscaler.edge.cli.opening import base
from shadow_autoscaler.edge.serve import serve as run


def serve(options: argparse.Namespace) -> int:
    """Run the server."""
    with base(options) as opened:
        listen = opened.config.listen
        try:
            return run(opened, level=options.log_level)
        except OSError as error:
            text = (
                f"cannot listen on {listen.host}:{listen.port}: {error.strerror}; change listen in the file"
            )
            raise CommandError(Exit.FAILED, text) from error
