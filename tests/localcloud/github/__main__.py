"""`python -m localcloud.github`: serve until stopped.

Options name another port, state folder or world file, for tests that want a GitHub of their own.
"""

import argparse
import json
import sys
from pathlib import Path
from urllib.parse import urlsplit

import uvicorn

from localcloud.github.app import build
from localcloud.github.simulator import Simulator
from localcloud.paths import state_home
from localcloud.world import World


def main() -> int:
    """Read the options, serve."""
    options = _options()
    world = _world(options.world)
    port = options.port or urlsplit(world["github_url"]).port or 8930
    state = options.state or state_home() / "github"
    sim = Simulator.open(state, f"http://127.0.0.1:{port}", world["sim_token"], world["github_token"])
    uvicorn.run(
        build(sim),
        host="127.0.0.1",
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m localcloud.github", description="A GitHub on loopback.")
    parser.add_argument("--port", type=int, help="port on 127.0.0.1; default: that of the world file")
    parser.add_argument(
        "--state", type=Path, help="folder of the database; default: below the local cloud's state"
    )
    parser.add_argument("--world", type=Path, help="JSON file with github_token and sim_token")
    return parser.parse_args()


def _world(path: Path | None) -> dict[str, str]:
    if path is None:
        path = World.path()
    found: dict[str, str] = {"github_url": "", **json.loads(path.read_text())}
    return found


if __name__ == "__main__":
    sys.exit(main())
