"""`run.sh`: come online, wait for a job, run it; an ephemeral runner ends after its one job."""

from __future__ import annotations

import argparse
import base64
import binascii
import json
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from job import Job
from service import VERSION, Service, ServiceError, complain, root, say

if TYPE_CHECKING:
    from types import FrameType

_POLL_S = 20
_RETRY_S = (1, 2, 4, 8, 15, 30)
_FATAL = (401, 403)
_FILES = (".runner", ".credentials")


@dataclass(frozen=True)
class Settings:
    """Who this runner is."""

    server: str
    runner_id: int
    name: str
    secret: str
    work_folder: str
    ephemeral: bool


class SettingsError(Exception):
    """The runner isn't configured, or its JIT configuration cannot be read."""


def from_jit_config(encoded: str) -> Settings:
    """Settings out of `encoded_jit_config`.

    Raises:
        SettingsError: not base64 of the files of a configured runner.
    """
    try:
        files = json.loads(base64.b64decode(encoded, validate=True))
        runner, credentials = (json.loads(base64.b64decode(files[name])) for name in _FILES)
        return _settings(runner, credentials)
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise SettingsError("The JIT configuration is not valid base64 of a runner's settings.") from error


def from_files() -> Settings:
    """Settings that `config.sh` wrote.

    Raises:
        SettingsError: `config.sh` was not run.
    """
    try:
        runner, credentials = (json.loads((root() / name).read_text()) for name in _FILES)
    except FileNotFoundError as error:
        raise SettingsError("Not configured. Run config.sh first, or give --jitconfig.") from error
    return _settings(runner, credentials)


def _settings(runner: dict[str, Any], credentials: dict[str, Any]) -> Settings:
    return Settings(
        server=runner["serverUrl"],
        runner_id=int(runner["agentId"]),
        name=runner["agentName"],
        secret=credentials["data"]["secret"],
        work_folder=runner["workFolder"],
        ephemeral=bool(runner["ephemeral"]),
    )


class _StoppedError(Exception):
    """The runner was told to end while it waited for a job."""


class Listener:
    """The loop of one runner process."""

    def __init__(self, settings: Settings, *, once: bool) -> None:
        self._settings = settings
        self._once = once or settings.ephemeral
        self._service = Service(settings.server)
        self._stop = threading.Event()
        self._job: Job | None = None
        self._waiting = False

    def stop(self, number: int, frame: FrameType | None) -> None:
        """Signal handler: end the wait; a running job fails with the reason."""
        say("Exiting...")
        self._stop.set()
        if self._job is not None:
            self._job.shut_down()
        if self._waiting:
            raise _StoppedError

    def run(self) -> int:
        """Exit code of `run.sh`."""
        try:
            self._connect()
            say(f"\n√ Connected to GitHub\n\nCurrent runner version: '{VERSION}'")
            say(f"{_now()}: Listening for Jobs")
            while not self._stop.is_set():
                if self._serve_next() and self._once:
                    break
        except _StoppedError:
            return 0
        except ServiceError as error:
            say(f"An error occurred: {error}")
            say("Runner listener exit with terminated error, stop the service, no retry needed.")
            return 1
        else:
            return 0
        finally:
            self._waiting = False
            self._disconnect()

    def _serve_next(self) -> bool:
        self._waiting = True
        message = self._patiently("GET", f"/message?wait_s={_POLL_S}", timeout=_POLL_S + 10)
        self._waiting = False
        if message is None or self._stop.is_set():
            return False
        try:
            started = self._service.call("POST", f"/jobs/{message['job_id']}/acquire", {})
        except ServiceError as error:
            say(f"{_now()}: The job could not be acquired: {error}")
            return False
        say(f"{_now()}: Running job: {started['name']}")
        self._job = Job(self._service, started, root() / self._settings.work_folder, self._settings.name)
        result = self._job.run()
        self._job = None
        say(f"{_now()}: Job {started['name']} completed with result: {result}")
        return True

    def _connect(self) -> None:
        body = {
            "runner_id": self._settings.runner_id,
            "secret": self._settings.secret,
            "os": "Linux",
            "version": VERSION,
        }
        answer = self._patiently("POST", "/sessions", body)
        if answer is not None:
            self._service = Service(self._settings.server, answer["session"])

    def _patiently(
        self, method: str, path: str, body: dict[str, Any] | None = None, timeout: float = 30
    ) -> Any:
        """Call until it works; only a deleted or refused runner gives up."""
        for attempt in range(10**6):
            try:
                return self._service.call(method, path, body, timeout)
            except ServiceError as error:
                if error.status in _FATAL:
                    raise
                if self._stop.wait(_RETRY_S[min(attempt, len(_RETRY_S) - 1)]):
                    return None
                say(f"{_now()}: Runner connect error: {error}. Retrying until reconnected.")
        return None

    def _disconnect(self) -> None:
        if self._service.token:
            try:
                self._service.call("DELETE", "/session", timeout=5)
            except ServiceError as error:
                # A runner that has done its one job is already forgotten by the service.
                if error.status != 401:
                    say(f"{_now()}: The session could not be closed: {error}")


def _now() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime())


def main(arguments: list[str]) -> int:
    """Read the options, run."""
    parser = argparse.ArgumentParser(prog="run.sh")
    # As the real one does with all of ACTIONS_RUNNER_INPUT_*: an option that jobs do not inherit.
    parser.add_argument("--jitconfig", default=os.environ.pop("ACTIONS_RUNNER_INPUT_JITCONFIG", None))
    parser.add_argument("--once", action="store_true")
    options = parser.parse_args(arguments)
    try:
        settings = from_files() if options.jitconfig is None else from_jit_config(options.jitconfig)
    except SettingsError as error:
        complain(str(error))
        return 1
    listener = Listener(settings, once=options.once)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, listener.stop)
    return listener.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
