"""Serve one instance on loopback: `python -m localcloud.gitlab --port N --state DIR --world FILE`."""

import argparse
import json
from pathlib import Path

import uvicorn

from localcloud.gitlab.app import build
from localcloud.gitlab.instance import open_instance
from localcloud.gitlab.settings import Settings


def settings_from(arguments: list[str] | None = None) -> Settings:
    """Settings from the command line, with tokens from the world file."""
    parser = argparse.ArgumentParser(
        prog="localcloud.gitlab", description="A GitLab server for tests, on 127.0.0.1."
    )
    parser.add_argument("--port", type=int, default=8929, help="TCP port on 127.0.0.1 (default 8929)")
    parser.add_argument(
        "--state", type=Path, help="folder of database and repositories (default: below the state home)"
    )
    parser.add_argument(
        "--world", type=Path, help="JSON file with gitlab_token and sim_token (default: the local cloud's)"
    )
    given = parser.parse_args(arguments)
    tokens = json.loads(_world_file(given.world).read_text())
    state: Path = given.state or _state_home() / "gitlab"
    return Settings(
        port=given.port, state=state, admin_token=tokens["gitlab_token"], sim_token=tokens["sim_token"]
    )


def _state_home() -> Path:
    from localcloud.paths import state_home  # noqa: PLC0415 - not needed when every path is given

    return state_home()


def _world_file(given: Path | None) -> Path:
    path = given or _state_home() / "world.json"
    if not path.is_file():
        raise SystemExit(
            f"localcloud.gitlab: {path} does not exist; "
            "run `scripts/localcloud up` first or give --world FILE"
        )
    return path


def main() -> None:
    """Serve until interrupted."""
    settings = settings_from()
    instance = open_instance(settings)
    uvicorn.run(
        build(instance),
        host=settings.host,
        port=settings.port,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=2,
    )


if __name__ == "__main__":
    main()
