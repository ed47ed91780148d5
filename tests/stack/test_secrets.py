"""No secret in plain text: planted tokens are searched for in state, output, logs and process lists."""

import contextlib
import threading
from pathlib import Path

import psutil
import pytest

from stack.live import LiveStack, cli

pytestmark = [pytest.mark.localcloud, pytest.mark.engine]


class ProcessWatch(threading.Thread):
    """Collects the command lines of all processes until it is stopped."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.seen: set[str] = set()
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.05):
            for process in psutil.process_iter():
                with contextlib.suppress(psutil.Error):
                    self.seen.add(" ".join(process.cmdline()))


def files_with(folder: Path, needle: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and needle.encode() in path.read_bytes()]


def test_no_token_is_found_in_state_output_logs_or_process_lists(forges: LiveStack) -> None:
    stack = forges
    stack.config["pools"][0]["count"] = 1
    stack.select()
    watch = ProcessWatch()
    watch.start()
    try:
        log = cli(stack, "up", "--yes", "--stack", stack.name, "-v=9", "--logtostderr", "--logflow")
        preview = cli(stack, "preview", "--json", "--stack", stack.name)
        runner_token = _runner_token(stack)
        planted = {
            "runner token": runner_token,
            "GitLab token": stack.world.gitlab_token,
            "GitHub token": stack.world.github_token,
            "webhook secret": stack.environment["GITHUB_WEBHOOK_SECRET"],
        }
        for name, secret in planted.items():
            assert secret not in log.stdout, name
            assert secret not in preview.stdout, name
            assert files_with(stack.folder, secret) == [], name
            assert not [line for line in watch.seen if secret in line], name
        assert len(watch.seen) > 10
    finally:
        watch.done.set()
        stack.stack.destroy()


def _runner_token(stack: LiveStack) -> str:
    shown = cli(stack, "stack", "export", "--show-secrets", "--stack", stack.name).stdout
    start = shown.index("glrt-")
    return shown[start:].split('\\"', 1)[0].split('"', 1)[0]
