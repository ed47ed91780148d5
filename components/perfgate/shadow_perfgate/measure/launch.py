"""How a run's process comes to be: spawned from nothing, or forked from one with the slow packages."""

import json
import select
import subprocess
import weakref
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, Final, Protocol, cast

from shadow_perfgate.errors import MeasureError
from shadow_perfgate.guard import dirty
from shadow_perfgate.guard.nvml import Gpu
from shadow_perfgate.measure import process
from shadow_perfgate.measure.orphans import ends_with_parent
from shadow_perfgate.measure.plan import Plan
from shadow_perfgate.measure.process import Ended, Running, Spawned

PLAN: Final = "plan.json"
RESULT: Final = "result.json"
IMPORT_S: Final = 300.0
"""Most time to import the preloaded packages."""

NO_CUDA_YET: Final = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
"""Lets PyTorch look for GPUs without starting CUDA, which would not survive a fork."""


class Launcher(Protocol):
    """Starts the process of one run."""

    def start(self, plan: Plan, checkout: Path, scratch: Path) -> Running:
        """Start `plan` in `checkout`; its result and output come into `scratch`."""
        ...


class Spawn:
    """Starts every process from nothing."""

    def __init__(self, package: str) -> None:
        self._package = package

    def start(self, plan: Plan, checkout: Path, scratch: Path) -> Running:
        """Start the worker, or the user's own command."""
        if plan.engine == "command":
            argv = cast("list[str]", plan.options["argv"])
            return Spawned(argv, checkout, process.environment(self._package, [str(checkout)], {}), scratch)
        write(plan, scratch)
        python = process.interpreter(plan.python, checkout)
        argv = [python, "-m", "shadow_perfgate.measure.worker", str(scratch / PLAN), str(scratch / RESULT)]
        return Spawned(
            argv, checkout, process.environment(self._package, [self._package, str(checkout)], {}), scratch
        )


class Fork:
    """Forks every process from one that has imported the slow packages."""

    def __init__(self, server: "subprocess.Popen[bytes]") -> None:
        self._server = server

    def start(self, plan: Plan, checkout: Path, scratch: Path) -> Running:
        """Have the server fork a worker."""
        write(plan, scratch)
        names = {"plan": PLAN, "result": RESULT, "stdout": "stdout", "stderr": "stderr"}
        job = {key: str(scratch / name) for key, name in names.items()} | {"folder": str(checkout.absolute())}
        with suppress(BrokenPipeError):
            # That it is gone, and how it ended, is heard next.
            cast("IO[bytes]", self._server.stdin).write(json.dumps(job).encode() + b"\n")
        return Forked(self._server, int(_soon(self._server, "pid")), scratch)


class Forked:
    """A process that the server forked and reaps."""

    def __init__(self, server: "subprocess.Popen[bytes]", pid: int, scratch: Path) -> None:
        self._server = server
        self._pid = pid
        self._scratch = scratch
        self._code: int | None = None

    @property
    def pid(self) -> int:
        """Return the id of the first process, which is also the group's."""
        return self._pid

    def wait(self, timeout_s: float) -> Ended:
        """Return how it ended; after `timeout_s` seconds raise `MeasureError`."""
        try:
            self._code = int(heard(self._server, timeout_s, "code"))
        except TimeoutError as error:
            raise process.too_slow("worker", timeout_s, self._scratch) from error
        return process.ended(self._code, self._scratch)

    def end(self) -> None:
        """End what is left of the group, and hear the server out."""
        process.end_group(self._pid, lambda: None)
        if self._code is None:
            with suppress(TimeoutError, MeasureError):
                self._code = int(heard(self._server, 10, "code"))


def heard(server: "subprocess.Popen[bytes]", timeout_s: float, key: str) -> Any:
    """Return the value of `key` in the server's next line."""
    output = cast("IO[bytes]", server.stdout)
    ready, _, _ = select.select([output], [], [], timeout_s)
    if not ready:
        raise TimeoutError(f"the preloading process did not answer within {timeout_s:.0f} s")
    line = output.readline()
    if not line:
        code = server.wait()
        raise MeasureError(
            f"the preloading process ended with {code}; is every package of preload installed?"
        )
    table: dict[str, Any] = json.loads(line)
    return table[key]


def _soon(server: "subprocess.Popen[bytes]", key: str) -> Any:
    try:
        return heard(server, IMPORT_S, key)
    except TimeoutError as error:
        raise MeasureError(f"{error}; import fewer packages in preload, or none") from error


def write(plan: Plan, scratch: Path) -> None:
    """Write the plan for the worker."""
    (scratch / PLAN).write_text(json.dumps(asdict(plan)), encoding="utf-8")


@contextmanager
def preloaded(plan: Plan, checkout: Path, package: str) -> Generator[Fork]:
    """Yield a launcher whose server has imported `plan.preload` in the environment of `checkout`."""
    # -P keeps this checkout off the path: the other arm's processes must not find its modules.
    argv = [
        process.interpreter(plan.python, checkout),
        "-P",
        "-m",
        "shadow_perfgate.measure.preload",
        *plan.preload,
    ]
    server = subprocess.Popen(
        argv,
        cwd=checkout,
        env=process.environment(package, [package], NO_CUDA_YET),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
        preexec_fn=ends_with_parent(),  # noqa: PLW1509 - no other thread runs yet
    )
    try:
        _soon(server, "ready")
        yield Fork(server)
    finally:
        process.end_group(server.pid, server.poll)
        server.communicate()


class Launchers:
    """What the measurers of a gate share until it is closed: the machine, and the preloading processes.

    There is one of these per interpreter and list of packages.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._known: dict[tuple[str, tuple[str, ...]], Launcher] = {}
        self._package = ""
        self._held = False
        weakref.finalize(self, self._stack.close)

    def close(self) -> None:
        """End the preloading processes and let the machine go."""
        self._stack.close()
        self._held = False
        self._known.clear()
        self._package = ""

    def hold(self, gpu: Gpu | None) -> None:
        """Keep other gates off the machine until closed: between looks they would disturb each other, too."""
        if not self._held:
            self._stack.enter_context(dirty.exclusive(gpu))
            self._held = True

    def of(self, plan: Plan, checkout: Path) -> Launcher:
        """Return the launcher for `plan` in `checkout`."""
        if not plan.preload or plan.engine == "command":
            return Spawn(self._import_path())
        key = process.interpreter(plan.python, checkout), plan.preload
        if key not in self._known:
            server = preloaded(plan, checkout, self._import_path())
            self._known[key] = self._stack.enter_context(server)
        return self._known[key]

    def _import_path(self) -> str:
        self._package = self._package or self._stack.enter_context(process.package_path())
        return self._package
