"""The long-running part: asks for jobs, runs up to `concurrent` of them, follows its configuration."""

import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from localcloud.standins import _gitlab_runner_config as config_file
from localcloud.standins._gitlab_runner_api import Coordinator, Reply
from localcloud.standins._gitlab_runner_config import Config, ConfigError, Runner
from localcloud.standins._gitlab_runner_job import Build


def say(text: str, level: str = "info", **fields: object) -> None:
    """One line of the runner's own log, on standard error."""
    words = {"warning": "WARNING: ", "error": "ERROR: ", "fatal": "FATAL: "}.get(level, "")
    pairs = " ".join(f"{key}={value}" for key, value in fields.items())
    sys.stderr.write(f"{words}{text}{'  ' + pairs if pairs else ''}\n")
    sys.stderr.flush()


@dataclass(slots=True)
class Health:
    """How the requests of one runner went lately."""

    failures: int = 0
    rests_until: float = 0.0
    last_update: str = ""


@dataclass(slots=True)
class Service:
    """`gitlab-runner run`."""

    path: Path
    work: Path
    config: Config
    read_at: float = 0.0
    builds: dict[threading.Thread, Build] = field(default_factory=dict[threading.Thread, Build])
    health: dict[str, Health] = field(default_factory=dict[str, Health])
    wake: threading.Event = field(default_factory=threading.Event)
    ending: str = ""
    taken: int = 0

    def run(self) -> int:
        """Serve until a signal: QUIT waits for running jobs, TERM and INT abort them."""
        for number in (signal.SIGQUIT, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self.signalled)
        self._announce()
        while not self.ending:
            self._reload()
            self._round()
            self.wake.wait(self.config.check_interval_s)
            self.wake.clear()
        return self.end()

    def _announce(self) -> None:
        self.read_at = self.path.stat().st_mtime
        for warning in self.config.warnings:
            say(warning, "warning")
        say("Configuration loaded", builds=len(self.builds), max_builds=self.config.concurrent)

    def signalled(self, number: int, _frame: object) -> None:
        """Take a signal: HUP reloads, the others end the service."""
        if number == signal.SIGHUP:
            self.read_at = 0.0
        else:
            self.ending = signal.Signals(number).name
        self.wake.set()

    def _reload(self) -> None:
        with suppress(OSError):
            if self.path.stat().st_mtime == self.read_at:
                return
            try:
                self.config = config_file.load(self.path)
                self._announce()
            except ConfigError as error:
                self.read_at = self.path.stat().st_mtime
                say("Failed to load config", "error", error=error, path=self.path)

    def _round(self) -> None:
        for runner in self.config.runners:
            self._forget_finished()
            free = self.config.concurrent - len(self.builds)
            mine = sum(build.runner.token == runner.token for build in self.builds.values())
            if self.ending or free < 1 or (runner.limit and mine >= runner.limit):
                continue
            self.ask(runner)

    def _forget_finished(self) -> None:
        self.builds = {thread: build for thread, build in self.builds.items() if thread.is_alive()}

    def coordinator(self, runner: Runner) -> Coordinator:
        """The server of a runner."""
        gpus = str(runner.docker.get("gpus", ""))
        return Coordinator(runner.url, runner.token, config_file.system_id(self.path), runner.executor, gpus)

    def ask(self, runner: Runner) -> bool:
        """Ask once for a job and start it; true when there was one."""
        health = self.health.setdefault(runner.token, Health())
        if health.rests_until > time.monotonic():
            return False
        coordinator = self.coordinator(runner)
        reply = coordinator.request_job(health.last_update)
        health.last_update = reply.headers.get("x-gitlab-last-update", health.last_update)
        if reply.status == 201:
            health.failures, health.last_update = 0, ""
            self._start(runner, coordinator, reply)
            return True
        self._judge(runner, health, reply)
        return False

    def _judge(self, runner: Runner, health: Health, reply: Reply) -> None:
        if reply.status == 204:
            health.failures = 0
            return
        problem = {403: "forbidden", 401: "forbidden", 0: "failed"}.get(reply.status, "client error")
        problem = "GitLab instance currently unavailable" if reply.status in {500, 502, 503} else problem
        status = f"{reply.status} {reply.text[:120]}".strip()
        say(f"Checking for jobs... {problem}", "error", runner=runner.short_token, status=status)
        health.failures += 1
        if health.failures >= runner.unhealthy_requests_limit:
            health.rests_until, health.failures = time.monotonic() + runner.unhealthy_interval_s, 0
            seconds = runner.unhealthy_interval_s
            say(
                f'Runner "{runner.name}" is unhealthy and will be disabled for {seconds:.0f} seconds!',
                "error",
            )

    def _start(self, runner: Runner, coordinator: Coordinator, reply: Reply) -> None:
        job = reply.json()
        used = {build.slot for build in self.builds.values()}
        slot = next(number for number in range(len(used) + 1) if number not in used)
        build = Build(runner, coordinator, job, self.work, slot, socket.gethostname())
        say("Checking for jobs... received", job=job["id"], runner=runner.short_token,
            repo_url=job["git_info"]["repo_url"].split("@")[-1])  # fmt: skip
        thread = threading.Thread(target=self._build, args=(build,))
        self.builds[thread] = build
        self.taken += 1
        thread.start()

    def _build(self, build: Build) -> None:
        began = datetime.now(UTC)
        state = build.run()
        took = (datetime.now(UTC) - began).total_seconds()
        good = state == "success"
        text = "Job succeeded" if good else f"Job failed ({state})"
        say(text, "info" if good else "warning", duration_s=f"{took:.1f}", job=build.job["id"],
            project=build.job["job_info"]["project_id"], runner=build.runner.short_token)  # fmt: skip
        self.wake.set()

    def wait_for_builds(self) -> None:
        """Wait until the running jobs are done, or a signal came."""
        while self.builds and not self.ending:
            self.wake.wait(0.2)
            self._forget_finished()

    def end(self) -> int:
        """Stop: wait for running jobs after QUIT or without a signal, abort them after others."""
        self._forget_finished()
        graceful = self.ending in {"", "SIGQUIT"}
        if self.ending:
            what = "waiting for running jobs" if graceful else "aborting running jobs"
            say(f"Received {self.ending}; {what}", "warning", builds=len(self.builds))
        if not graceful:
            for build in self.builds.values():
                build.abort_signal = "interrupt" if self.ending == "SIGINT" else "terminated"
                build.abort.set()
        for thread in list(self.builds):
            while thread.is_alive():
                thread.join(0.2)
                self._lose_patience(graceful=graceful)
        say("All workers stopped. Can exit now")
        return 0

    def _lose_patience(self, *, graceful: bool) -> None:
        """A TERM after a QUIT ends the patience."""
        if graceful and self.ending not in {"", "SIGQUIT"}:
            for build in self.builds.values():
                build.abort.set()
