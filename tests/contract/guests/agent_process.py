"""An agent in its own process, over servers listed in a file: `agent_process.py SERVERS HOME HEARTBEAT`."""

import json
import signal
import sys
import threading
from pathlib import Path

from localcloud.guests.agent import Agent
from localcloud.guests.memory import MemoryServers
from localcloud.guests.servers import Server


def main() -> None:
    """Run until SIGTERM."""
    listed, home, heartbeat = map(Path, sys.argv[1:])
    servers = MemoryServers()
    for fields in json.loads(listed.read_text()):
        servers.add(Server(**fields))
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda _number, _frame: stop.set())
    Agent(servers, home).run(stop, heartbeat, 0.05)


if __name__ == "__main__":
    main()
