"""Runs one `run:` step: its script, its files for variables and outputs, its end in time."""

from __future__ import annotations

import itertools
import os
import shlex
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from job_log import JobLog

# Seconds from the cancellation to SIGTERM and to SIGKILL, as the real runner waits after its SIGINT.
_TERM_AFTER_S = 7.5
_KILL_AFTER_S = 10.0
_POLL_S = 0.1
_SHELLS = {
    "bash": "bash --noprofile --norc -eo pipefail {0}",
    "sh": "sh -e {0}",
    "python": "/usr/bin/python3 {0}",
}
_NAMES = {
    "env": "GITHUB_ENV",
    "output": "GITHUB_OUTPUT",
    "path": "GITHUB_PATH",
    "summary": "GITHUB_STEP_SUMMARY",
}


@dataclass(frozen=True)
class StepFiles:
    """The files by which a script gives values to later steps."""

    folder: Path
    index: int

    def _path(self, kind: str) -> Path:
        return self.folder / f"{kind}_{self.index}"

    def environment(self) -> dict[str, str]:
        """Variables that name the files; the files exist and are empty."""
        for kind in _NAMES:
            self._path(kind).touch()
        return {name: str(self._path(kind)) for kind, name in _NAMES.items()}

    def script(self, text: str) -> Path:
        """Write the script."""
        path = self._path("script")
        path.write_text(text + "\n")
        return path

    def lines(self, kind: str) -> list[str]:
        """Lines of a file, none where it was not written."""
        path = self._path(kind)
        return path.read_text().splitlines() if path.exists() else []

    def variables(self, kind: str) -> dict[str, str]:
        """`name=value` and `name<<END … END` of a file."""
        found: dict[str, str] = {}
        lines = iter(self.lines(kind))
        for line in lines:
            name, heredoc, end = line.partition("<<")
            if heredoc and "=" not in name:
                found[name] = "\n".join(itertools.takewhile(end.__ne__, lines))
            elif "=" in line:
                key, _, value = line.partition("=")
                found[key] = value
        return found


def run_script(
    shell: str,
    script: Path,
    folder: Path,
    environment: dict[str, str],
    log: JobLog,
    cancelled: threading.Event,
    timeout_s: float | None,
) -> int:
    """Exit code of the script; its output goes to the log line by line."""
    command = [part.format(script) for part in shlex.split(_SHELLS.get(shell, shell))]
    folder.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    reader = threading.Thread(target=_read, args=(process, log), daemon=True)
    reader.start()
    code = _wait(process, cancelled, timeout_s)
    _end_group(process.pid, signal.SIGKILL)
    reader.join()
    return code


def _read(process: subprocess.Popen[bytes], log: JobLog) -> None:
    if process.stdout is None:
        return
    for raw in process.stdout:
        log.write(raw.decode(errors="replace").rstrip("\r\n"))


def _wait(process: subprocess.Popen[bytes], cancelled: threading.Event, timeout_s: float | None) -> int:
    end = None if timeout_s is None else time.monotonic() + timeout_s
    while process.poll() is None:
        if cancelled.wait(_POLL_S) or (end is not None and time.monotonic() > end):
            return _stop(process)
    return process.returncode


def _stop(process: subprocess.Popen[bytes]) -> int:
    for number, seconds in (
        (signal.SIGINT, _TERM_AFTER_S),
        (signal.SIGTERM, _KILL_AFTER_S - _TERM_AFTER_S),
        (signal.SIGKILL, _KILL_AFTER_S),
    ):
        _end_group(process.pid, number)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            continue
        break
    return process.returncode or 130


def _end_group(pid: int, number: signal.Signals) -> None:
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return
