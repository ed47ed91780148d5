"""One supervised service of the guest's init: state, start, stop and restart policy."""

import os
import pwd
import signal
import socket
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from localcloud.standins.units import Unit

JOURNAL = Path("/var/log/journal")
NOTIFY = Path("/run/systemd/notify")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_DEFAULT_RESTART_SECONDS = 0.1
_BURST = 5

Reply = Callable[[str], None]


@dataclass(slots=True)
class Service:
    """State of one unit as `systemctl` shows it; `waiting` are callers to answer once it has started."""

    unit: Unit
    environment: dict[str, str]
    active: str = "inactive"
    result: str = "success"
    pid: int = 0
    exit_code: int = 0
    starts: int = 0
    wanted: bool = False
    notify: socket.socket | None = None
    waiting: list[Reply] = field(default_factory=list[Reply])
    _queue: list[tuple[list[str], bool]] = field(default_factory=list[tuple[list[str], bool]])

    @property
    def kind(self) -> str:
        """Type= of the unit."""
        return self.unit.last("Type", "simple")

    def start(self, reply: Reply | None = None) -> None:
        """Start; the reply comes when systemd would return: at exec, READY=1 or a oneshot's end."""
        if reply:
            self.waiting.append(reply)
        if self.active in {"active", "activating"} and self.pid:
            self._started() if self.active == "active" else None
            return
        if self.active == "active":
            self._started()
            return
        self.wanted, self.active, self.starts = True, "activating", self.starts + 1
        main = self.unit.commands("ExecStart")
        self._queue = [*self.unit.commands("ExecStartPre"), *main]
        self._next()

    def stop(self) -> None:
        """Send TERM to the process group; the end is seen by `ended`."""
        self.wanted = False
        self._queue = []
        if self.pid:
            self._signal(signal.SIGTERM)
            self.active = "deactivating"
        else:
            self.active = "inactive"

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to the whole process group."""
        self._signal(number)

    def ready(self) -> None:
        """The service has said READY=1."""
        if self.active == "activating":
            self._started()

    def ended(self, status: int) -> float | None:
        """The process has ended with this wait status; seconds until its restart, None for no restart."""
        code, self.pid, self.exit_code = os.waitstatus_to_exitcode(status), 0, 0
        self.exit_code = code
        failed = code not in (0, -signal.SIGTERM) if self.active == "deactivating" else code != 0
        if self.active == "activating" and self._queue and not failed:
            self._next()
            return None
        oneshot = self.kind == "oneshot"
        if oneshot and not failed:
            stays = self.unit.last("RemainAfterExit") in {"yes", "true", "1"}
            self.active = "active" if stays and self.wanted else "inactive"
            self._answer("")
            return None
        self.active, self.result = ("failed", "exit-code") if failed else ("inactive", "success")
        delay = self._restart_delay(failed=failed)
        self._answer(f"Job for {self.unit.name} failed." if failed else "")
        return delay

    def _restart_delay(self, *, failed: bool) -> float | None:
        policy = self.unit.last("Restart", "no")
        again = policy == "always" or (policy in {"on-failure", "on-abnormal", "on-abort"} and failed)
        if not self.wanted or not (again or (policy == "on-success" and not failed)):
            return None
        delay = self.unit.seconds("RestartSec", _DEFAULT_RESTART_SECONDS)
        if delay < 1 and self.starts >= _BURST:
            self.result = "start-limit-hit"
            return None
        self.active = "activating"
        return delay

    def _next(self) -> None:
        command, ignore = self._queue.pop(0)
        try:
            self.pid = self._spawn(["sh", "-c", 'exec "$@" || exit 0', "sh", *command] if ignore else command)
        except (OSError, KeyError) as error:
            self._fail_start(command, error)
            return
        if not self._queue and self.kind not in {"oneshot", "notify"}:
            self._started()

    def _fail_start(self, command: list[str], error: Exception) -> None:
        self.active, self.result, self.exit_code, self.pid = "failed", "exec", 203, 0
        self._log(f"{self.unit.name}: Failed to execute {command[0]}: {error}\n")
        self._answer(f"Job for {self.unit.name} failed because the control process exited with error code.")

    def _spawn(self, command: list[str]) -> int:
        JOURNAL.mkdir(parents=True, exist_ok=True)
        user = self.unit.last("User")
        account = pwd.getpwnam(user) if user else None
        notify = {"NOTIFY_SOCKET": str(NOTIFY / self.unit.name)} if self.kind == "notify" else {}
        home = account.pw_dir if account else "/root"
        base = {**self.environment, "PATH": PATH, "HOME": home, "LANG": "C.UTF-8"}
        with (JOURNAL / f"{self.unit.name}.log").open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**base, **notify, **self.unit.environment()},
                cwd=self.unit.last("WorkingDirectory", "/").lstrip("-"),
                start_new_session=True,
                user=account.pw_uid if account else None,
                group=account.pw_gid if account else None,
                extra_groups=[] if account else None,
            )
        process.returncode = 0  # init reaps every child itself; this object must not try to
        return process.pid

    def _started(self) -> None:
        self.active, self.result = "active", "success"
        self._answer("")

    def _answer(self, error: str) -> None:
        # An answer may start the service anew, whose caller must wait for that start.
        answered, self.waiting = self.waiting, []
        for reply in answered:
            reply(error)

    def _signal(self, number: signal.Signals) -> None:
        if self.pid:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def _log(self, text: str) -> None:
        with (JOURNAL / f"{self.unit.name}.log").open("a") as log:
            log.write(text)
