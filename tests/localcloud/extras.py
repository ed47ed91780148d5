"""The simulators and the guest agent: services of this checkout's own Python environment."""

import sys

from localcloud.packages import ADDRESS
from localcloud.paths import repository, state_home
from localcloud.processes import Service, fresh, http_ok
from localcloud.world import World

NAMES = ("gitlab", "github", "packages", "guests")


def service(name: str) -> Service:
    """Service of one part; it is ready by its health page, the guest agent by its heartbeat file."""
    command = (sys.executable, "-m", f"localcloud.{name}")
    env = {"PYTHONPATH": str(repository() / "tests"), "no_proxy": "127.0.0.1,localhost"}
    if name == "guests":
        heartbeat = state_home() / "guests" / "heartbeat"
        # It ends its guests last; killed before that, it would leave them running.
        return Service(name, command, env, lambda: fresh(heartbeat), stop_seconds=60)
    if name == "packages":
        port = int(ADDRESS.rpartition(":")[2])
        return Service(
            name, (*command, "--port", str(port)), env, lambda: http_ok(f"{ADDRESS}/health"), (port,)
        )
    addresses = World.load() if World.path().exists() else World()
    base = addresses.gitlab_url if name == "gitlab" else addresses.github_url
    port = int(base.rpartition(":")[2])
    return Service(name, (*command, "--port", str(port)), env, lambda: http_ok(f"{base}/-/health"), (port,))
