"""Starts fresh processes in a group of their own, and never leaves one behind."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import shadow_perfgate
from shadow_perfgate import scratch
from shadow_perfgate.errors import MeasureError
from shadow_perfgate.masking import tail
from shadow_perfgate.measure.orphans import MARK, ends_with_parent
from shadow_perfgate.measure.quiet import ENVIRONMENT

TOKENS = frozenset({"PERFGATE_GITLAB_TOKEN", "GITHUB_TOKEN"})
"""What the gate comments with; nothing that is measured needs it."""
TAIL = 2000
"""Characters of a failed process's output that an error shows."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that ended by itself."""

    code: int
    stdout: str
    stderr: str


@contextmanager
def package_path() -> Generator[str]:
    """Yield a folder that holds only this package, for the import path of another interpreter."""
    with scratch.folder("package") as folder:
        (folder / "shadow_perfgate").symlink_to(Path(shadow_perfgate.__file__).parent)
        yield str(folder)


def environment(owner: str, paths: Sequence[str], extra: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment with the quiet settings and `paths` first on Python's path.

    `owner` is the temporary folder whose end is the process's end.
    """
    known = os.environ.get("PYTHONPATH", "")
    joined = os.pathsep.join([*paths, *([known] if known else [])])
    return {**without_tokens(), **ENVIRONMENT, MARK: owner, "PYTHONPATH": joined, **extra}


def without_tokens() -> dict[str, str]:
    """Return this process's environment for others' programs, whose last words end up in a comment."""
    return {name: value for name, value in os.environ.items() if name not in TOKENS}


@contextmanager
def _undivided() -> Generator[None]:
    """Put SIGTERM off: a process that is started and not yet known could be ended by nobody."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    noted: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: noted.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        if noted:
            signal.raise_signal(signal.SIGTERM)


class Running(Protocol):
    """A started process with its children."""

    @property
    def pid(self) -> int:
        """Return the id of the first process, which is also the group's."""
        ...

    def wait(self, timeout_s: float) -> Ended:
        """Return how it ended; after `timeout_s` seconds raise `MeasureError`."""
        ...

    def end(self) -> None:
        """End what is left of the group: workers that outlive their parent hold VRAM."""
        ...


class Spawned:
    """A process started from nothing, in a group of its own."""

    def __init__(self, argv: Sequence[str], folder: Path, env: Mapping[str, str], scratch: Path) -> None:
        self._argv = tuple(argv)
        self._scratch = scratch
        self._process: subprocess.Popen[bytes] | None = None
        try:
            with _undivided():
                self._process = self._started(folder, env)
        except OSError as error:
            what = f"{self._argv[0]!r} cannot be started in {folder}"
            raise MeasureError(f"{what}: {error.strerror}; check the path and the PATH variable") from error
        except BaseException:
            self.end()
            raise

    def _started(self, folder: Path, env: Mapping[str, str]) -> "subprocess.Popen[bytes]":
        with (self._scratch / "stdout").open("wb") as out, (self._scratch / "stderr").open("wb") as err:
            return subprocess.Popen(
                self._argv,
                cwd=folder,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                preexec_fn=ends_with_parent(),  # noqa: PLW1509 - no other thread runs yet
            )

    @property
    def pid(self) -> int:
        """Return the id of the first process, which is also the group's."""
        assert self._process is not None  # noqa: S101 - set by every constructor that returns
        return self._process.pid

    def wait(self, timeout_s: float) -> Ended:
        """Return how it ended; after `timeout_s` seconds raise `MeasureError`."""
        assert self._process is not None  # noqa: S101 - set by every constructor that returns
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            raise too_slow(self._argv[0], timeout_s, self._scratch) from error
        return ended(code, self._scratch)

    def end(self) -> None:
        """End what is left of the group."""
        if self._process is not None:
            end_group(self.pid, self._process.poll)
            self._process.wait()


def ended(code: int, scratch: Path) -> Ended:
    """Return how a process ended that wrote `stdout` and `stderr` in `scratch`."""
    out, err = (
        (scratch / name).read_text(encoding="utf-8", errors="replace") for name in ("stdout", "stderr")
    )
    return Ended(code, out, err)


def too_slow(name: str, timeout_s: float, scratch: Path) -> MeasureError:
    """Return the error of a process that took too long."""
    output = tail(ended(-1, scratch).stderr, TAIL).strip()
    remedy = "raise the limit or make the workload smaller"
    told = f". Last output: {output}" if output else ""
    return MeasureError(f"{name!r} did not end within {timeout_s:.0f} s (timeout_s); {remedy}{told}")


def end_group(group: int, reap: Callable[[], object]) -> None:
    """Ask the processes of `group` to end, then make them; `reap` collects those that ended."""
    for sent, seconds in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 10.0)):
        deadline = time.monotonic() + seconds
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, sent)
            while time.monotonic() < deadline:
                reap()
                os.killpg(group, 0)
                time.sleep(0.02)


def members(group: int) -> tuple[int, ...]:
    """Return the ids of the processes of a group."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError, IndexError, ValueError):
                fields = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                if int(fields[2]) == group:
                    found.append(int(entry.name))
    return tuple(found)


def interpreter(configured: str, checkout: Path) -> str:
    """Return the Python of the measured code: a path in the checkout, a name on PATH, or the tool's own."""
    return str(checkout / configured) if "/" in configured else configured or sys.executable
