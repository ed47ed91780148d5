"""Entry point: the engine starts the plugin and reads the port from the first line of output."""

import sys

from gitlab_plugin import NOTICE
from gitlab_plugin.server import serve


def main() -> None:
    """Serve until the engine ends the process."""
    sys.stderr.write(f"{NOTICE}\n")
    server, port = serve()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    server.wait_for_termination()


if __name__ == "__main__":
    main()
