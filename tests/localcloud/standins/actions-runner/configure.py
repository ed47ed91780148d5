"""`config.sh`: classic registration by a token, and `remove`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from service import Service, ServiceError, complain, root, say

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_MACHINES = {"x86_64": "X64", "aarch64": "ARM64"}
_DEFAULT_LABELS = ("self-hosted", "Linux", _MACHINES.get(platform.machine(), "X64"))


def main(arguments: list[str]) -> int:
    """Register or remove; the exit code is 0 where that has worked."""
    removing = arguments[:1] == ["remove"]
    options = _options(arguments[1:] if removing else arguments, removing=removing)
    try:
        return _remove(options) if removing else _register(options)
    except ServiceError as error:
        complain(f"Http response code: {error.status} from 'POST /_runner'")
        complain(str(error))
        return 1


def _options(arguments: list[str], *, removing: bool) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="config.sh")
    parser.add_argument("--token", required=True)
    parser.add_argument("--unattended", action="store_true")
    if not removing:
        parser.add_argument("--url", required=True)
        parser.add_argument("--name", default=platform.node())
        parser.add_argument("--labels", default="")
        parser.add_argument("--runnergroup")
        parser.add_argument("--work", default="_work")
        for flag in ("--ephemeral", "--replace", "--disableupdate", "--no-default-labels"):
            parser.add_argument(flag, action="store_true")
    return parser.parse_args(arguments)


def _register(options: argparse.Namespace) -> int:
    if (root() / ".runner").exists():
        complain("Cannot configure the runner because it is already configured.")
        return 1
    own = [label.strip() for label in options.labels.split(",") if label.strip()]
    labels = own if options.no_default_labels else [*_DEFAULT_LABELS, *own]
    parts = urlsplit(str(options.url))
    server = f"{parts.scheme}://{parts.netloc}"
    body = {
        "token": options.token,
        "name": options.name,
        "labels": labels,
        "group": options.runnergroup,
        "ephemeral": options.ephemeral,
        "replace": options.replace,
        "work_folder": options.work,
    }
    answer = Service(server).call("POST", "/register", body)
    runner = {
        "agentId": str(answer["runner_id"]),
        "agentName": options.name,
        "serverUrl": server,
        "gitHubUrl": options.url,
        "workFolder": options.work,
        "ephemeral": options.ephemeral,
    }
    _write(root() / ".runner", runner)
    _write(root() / ".credentials", {"scheme": "OAuth", "data": {"secret": answer["secret"]}})
    say("√ Runner successfully added")
    say("√ Settings Saved.")
    return 0


def _remove(options: argparse.Namespace) -> int:
    runner = json.loads((root() / ".runner").read_text())
    body = {"token": options.token, "runner_id": int(runner["agentId"])}
    Service(runner["serverUrl"]).call("POST", "/remove", body)
    for name in (".runner", ".credentials"):
        (root() / name).unlink()
    say("√ Runner removed successfully")
    return 0


def _write(path: Path, content: Mapping[str, object]) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
        json.dump(content, out)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
