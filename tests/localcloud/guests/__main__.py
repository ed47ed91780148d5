"""`python -m localcloud.guests`: the agent itself, or a command about its guests."""

import fcntl
import logging
import signal
import sys
import threading

from localcloud.guests import cli
from localcloud.guests.agent import Agent
from localcloud.guests.guest import guests_home
from localcloud.guests.nova import connect

_SECONDS = 1.0
_LOCK = "agent.lock"
HEARTBEAT = "heartbeat"


def serve() -> int:
    """Follow Nova until SIGTERM, then switch all guests off."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    if not cli.is_root():
        sys.stderr.write("The guest agent makes sandboxes with several users in them: run it as root.\n")
        return 2
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stop.set())
    guests_home().mkdir(parents=True, exist_ok=True)
    with (guests_home() / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.stderr.write(
                f"Another guest agent follows {guests_home()}: `scripts/localcloud status` shows it.\n"
            )
            return 2
        Agent(connect(), guests_home()).run(stop, guests_home() / HEARTBEAT, _SECONDS)
    return 0


def main() -> int:
    """Run the command line."""
    arguments = cli.parser().parse_args()
    return serve() if arguments.command in {None, "serve"} else cli.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
