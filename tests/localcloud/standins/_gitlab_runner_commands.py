"""The commands of `gitlab-runner` and their options."""

import argparse
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from localcloud.standins import _gitlab_runner_config as config_file
from localcloud.standins._gitlab_runner_api import REVISION, VERSION, Coordinator
from localcloud.standins._gitlab_runner_config import Config, ConfigError, Runner
from localcloud.standins._gitlab_runner_service import Service, say

DEFAULT_CONFIG = "/etc/gitlab-runner/config.toml"
DEFAULT_WORK = "/var/lib/gitlab-runner"
RESERVED = ("--locked", "--access-level", "--run-untagged", "--maximum-timeout", "--paused", "--tag-list",
            "--maintenance-note")  # fmt: skip
RESERVED_TEXT = (
    "Runner configuration other than name and executor configuration is reserved (specifically --locked, "
    "--access-level, --run-untagged, --maximum-timeout, --paused, --tag-list, and --maintenance-note) "
    "and cannot be specified when registering with a runner authentication token. "
    "This configuration is specified on the GitLab server. "
    "Please try again without specifying any of those arguments."
)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what was wrong with the options as GitLab Runner does, and stop."""
        sys.stderr.write(f"Incorrect Usage: {message}\n")
        sys.exit(1)


def version_text() -> str:
    """What `--version` prints."""
    return (
        f"Version:      {VERSION}\nGit revision: {REVISION}\nGit branch:   18-5-stable\n"
        f"GO version:   go1.24.6\n"
        f"Built:        2026-10-16T00:00:00Z\nOS/Arch:      linux/amd64\n"
    )


def _parser(name: str) -> _Parser:
    parser = _Parser(prog=f"gitlab-runner {name}", allow_abbrev=False)
    parser.add_argument("-c", "--config", default=os.environ.get("CONFIG_FILE", DEFAULT_CONFIG))
    return parser


def _load(path: Path) -> Config | None:
    try:
        return config_file.load(path)
    except ConfigError as error:
        say(f"Failed to load config {path}: {error}", "fatal")
        return None


def run(words: Sequence[str]) -> int:
    """`run`: serve in the foreground."""
    parser = _parser("run")
    parser.add_argument("-d", "--working-directory", default=DEFAULT_WORK)
    for ignored in ("-n", "--service"), ("-u", "--user"):
        parser.add_argument(*ignored)
    parser.add_argument("--syslog", action="store_true")
    parser.add_argument("--listen-address")
    given = parser.parse_args(words)
    path = Path(given.config)
    say("Runtime platform", arch="amd64", os="linux", pid=os.getpid(), revision=REVISION, version=VERSION)
    config = _load(path)
    if config is None:
        return 1
    say(f"Starting multi-runner from {path}...", builds=0, max_builds=0)
    return Service(path, Path(given.working_directory), config).run()


def run_single(words: Sequence[str]) -> int:
    """`run-single`: take `--max-builds` jobs for one runner, or give up after `--wait-timeout` seconds."""
    parser = _parser("run-single")
    parser.add_argument("-r", "--runner", default="")
    parser.add_argument("-u", "--url", default=os.environ.get("CI_SERVER_URL", ""))
    parser.add_argument("-t", "--token", default=os.environ.get("CI_SERVER_TOKEN", ""))
    parser.add_argument("--name", "--description", default=socket.gethostname())
    parser.add_argument("--executor", default=os.environ.get("RUNNER_EXECUTOR", ""))
    parser.add_argument("--wait-timeout", type=int, default=0)
    parser.add_argument("--max-builds", type=int, default=0)
    parser.add_argument("-d", "--working-directory", default=DEFAULT_WORK)
    _docker_options(parser)
    given = parser.parse_args(words)
    runner = _single(given)
    if runner is None:
        return 1
    path = Path(given.config)
    config = Config(path, 1, 1.0, "info", 30.0, (runner,))
    return _take_jobs(
        Service(path, Path(given.working_directory), config), runner, given.max_builds, given.wait_timeout
    )


def _single(given: argparse.Namespace) -> Runner | None:
    if given.runner:
        config = _load(Path(given.config))
        found = [item for item in config.runners if item.name == given.runner] if config else []
        if not found:
            say(f"Could not find runner with the name {given.runner!r}", "fatal")
        return found[0] if found else None
    missing = [name for name in ("url", "token", "executor") if not getattr(given, name)]
    if missing:
        say(f"Missing {' and '.join(name.capitalize() for name in missing)}", "fatal")
        return None
    return Runner(given.name, given.url.rstrip("/"), given.token, given.executor, docker=_docker_table(given))


def _take_jobs(service: Service, runner: Runner, most: int, wait_s: int) -> int:
    for number in (signal.SIGQUIT, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, service.signalled)
    began = time.monotonic()
    while not service.ending and (not most or service.taken < most):
        if not service.ask(runner):
            if wait_s and not service.taken and time.monotonic() - began > wait_s:
                say("No job received in time; this runner is about to be stopped")
                break
            service.wake.wait(service.config.check_interval_s)
        service.wait_for_builds()
    return service.end()


def _docker_options(parser: argparse.ArgumentParser) -> None:
    for name in ("image", "gpus", "pull-policy", "network-mode", "runtime"):
        parser.add_argument(f"--docker-{name}", default="")
    parser.add_argument("--docker-privileged", action="store_true")
    for name in ("volumes", "allowed-images"):
        parser.add_argument(f"--docker-{name}", action="append", default=[])


def _docker_table(given: argparse.Namespace) -> config_file.Table:
    names = (
        "image",
        "gpus",
        "pull_policy",
        "network_mode",
        "runtime",
        "privileged",
        "volumes",
        "allowed_images",
    )
    return {name: value for name in names if (value := getattr(given, f"docker_{name}"))}


def verify(words: Sequence[str]) -> int:
    """`verify`: ask the server whether each token is valid."""
    parser = _parser("verify")
    parser.add_argument("--delete", action="store_true")
    parser.add_argument("-n", "--name", default="")
    given = parser.parse_args(words)
    config = _load(Path(given.config))
    if config is None:
        return 1
    chosen = [item for item in config.runners if given.name in {"", item.name}]
    return max([_verify_one(config, item) for item in chosen], default=0)


def _verify_one(config: Config, runner: Runner) -> int:
    reply = Coordinator(runner.url, runner.token, config_file.system_id(config.path)).verify()
    if reply.status == 200:
        say("Verifying runner... is valid", runner=runner.short_token)
        return 0
    word = "is removed" if reply.status == 403 else "failed"
    say(f"Verifying runner... {word}", "error", runner=runner.short_token, status=reply.status or reply.text)
    return 1


def register(words: Sequence[str]) -> int:
    """`register`: check a `glrt-` token and add a `[[runners]]` entry."""
    parser = _parser("register")
    parser.add_argument("-n", "--non-interactive", action="store_true")
    parser.add_argument("-u", "--url", default=os.environ.get("CI_SERVER_URL", ""))
    parser.add_argument("-t", "--token", default=os.environ.get("CI_SERVER_TOKEN", ""))
    parser.add_argument("-r", "--registration-token", default=os.environ.get("REGISTRATION_TOKEN", ""))
    parser.add_argument("--name", "--description", default=socket.gethostname())
    parser.add_argument("--executor", default="")
    for name in RESERVED:
        parser.add_argument(name, nargs="?", const="true", default=None)
    _docker_options(parser)
    given = parser.parse_args(words)
    token = given.token or given.registration_token
    if token.startswith("glrt-"):
        return _register(given, token)
    reply = Coordinator(given.url.rstrip("/"), token, "").send("POST", "/runners", {"token": token})
    say(f"Registering runner... failed  status={reply.status} {reply.text}", "error")
    say("Failed to register the runner.", "fatal")
    return 1


def _register(given: argparse.Namespace, token: str) -> int:
    if any(getattr(given, name.removeprefix("--").replace("-", "_")) is not None for name in RESERVED):
        say(RESERVED_TEXT, "fatal")
        return 1
    if not given.executor or not given.url or (given.executor == "docker" and not given.docker_image):
        say("register needs --url, --executor and, with the docker executor, --docker-image", "fatal")
        return 1
    path = Path(given.config)
    reply = Coordinator(given.url.rstrip("/"), token, config_file.system_id(path)).verify()
    if reply.status != 200:
        say(f"Verifying runner... is not valid  status={reply.status} {reply.text}", "error")
        say("Failed to verify the runner.", "fatal")
        return 1
    _append(path, given, token, int(reply.json()["id"]))
    say(
        "Runner registered successfully. Feel free to start it, but if it's running already the config "
        "should be automatically reloaded!"
    )
    return 0


def _append(path: Path, given: argparse.Namespace, token: str, runner_id: int) -> None:
    head = path.read_text() if path.exists() else "concurrent = 1\ncheck_interval = 0\n"
    lines = ["", "[[runners]]"]
    pairs = {
        "name": given.name,
        "url": given.url,
        "id": runner_id,
        "token": token,
        "executor": given.executor,
    }
    lines += [f"  {key} = {json.dumps(value)}" for key, value in pairs.items()]
    if given.executor == "docker":
        lines.append("  [runners.docker]")
        lines += [f"    {key} = {json.dumps(value)}" for key, value in _docker_table(given).items()]
    _write(path, head + "\n".join(lines) + "\n")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)


def list_runners(words: Sequence[str]) -> int:
    """`list`: the runners in the configuration."""
    given = _parser("list").parse_args(words)
    config = _load(Path(given.config))
    if config is None:
        return 1
    say("Listing configured runners", ConfigFile=given.config)
    for item in config.runners:
        say(item.name, Executor=item.executor, Token=item.short_token, URL=item.url)
    return 0


def unregister(words: Sequence[str]) -> int:
    """`unregister`: take this machine from its runners, and their entries from the configuration."""
    parser = _parser("unregister")
    parser.add_argument("-n", "--name", default="")
    parser.add_argument("--all-runners", action="store_true")
    given = parser.parse_args(words)
    config = _load(Path(given.config))
    if config is None:
        return 1
    chosen = [item for item in config.runners if given.all_runners or item.name == given.name]
    if not chosen:
        say("Could not find a runner with that name; use --name or --all-runners", "fatal")
        return 1
    return max(_unregister_one(config, item) for item in chosen)


def _unregister_one(config: Config, runner: Runner) -> int:
    identity = config_file.system_id(config.path)
    server = Coordinator(runner.url, runner.token, identity)
    reply = server.send("DELETE", "/runners/managers", {"token": runner.token, "system_id": identity})
    if reply.status not in {204, 404}:
        say("Unregistering runner manager from GitLab failed", "error", status=f"{reply.status} {reply.text}")
        return 1
    head, *entries = config.path.read_text().split("[[runners]]")
    kept = [entry for entry in entries if f'"{runner.token}"' not in entry]
    _write(config.path, "[[runners]]".join([head, *kept]))
    say("Unregistering runner manager from GitLab succeeded", runner=runner.short_token)
    return 0
