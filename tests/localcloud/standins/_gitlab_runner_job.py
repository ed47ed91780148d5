"""One job from the answer of GitLab to its last update."""

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from localcloud.standins import _gitlab_runner_files as files
from localcloud.standins import _gitlab_runner_script as script
from localcloud.standins._gitlab_runner_api import REVISION, VERSION, Coordinator
from localcloud.standins._gitlab_runner_config import Runner
from localcloud.standins._gitlab_runner_docker import DAEMON_ERROR, Docker, SystemFailure
from localcloud.standins._gitlab_runner_trace import GREEN, RED, RESET, YELLOW, Masker, Trace

AFTER_SCRIPT_SECONDS = 300.0
UPDATE_ATTEMPTS = 10
UPDATE_PAUSE_S = 1.0


class ScriptFailure(Exception):  # noqa: N818 - the job's own failure, not a fault of the runner
    """The job's script ended with an exit code other than 0."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit code {code}")
        self.code = code


class Stopped(Exception):  # noqa: N818 - an order, not an error
    """The job was cancelled, ran out of time, or the runner was told to stop."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(text)
        self.reason = reason


@dataclass(slots=True)
class Build:
    """A job being run; `abort` is set by the service when it is told to stop at once."""

    runner: Runner
    coordinator: Coordinator
    job: dict[str, Any]
    work: Path
    slot: int
    hostname: str
    abort: threading.Event = field(default_factory=threading.Event)
    abort_signal: str = "terminated"
    values: dict[str, str] = field(default_factory=dict[str, str])
    stop: threading.Event = field(default_factory=threading.Event)
    trace: Trace = field(init=False)

    def run(self) -> str:
        """Run the job and report; gives its final state for the runner's own log."""
        variables = script.collect(self.job["variables"], self._own_variables())
        self.values = script.expanded(variables)
        masker = Masker(self._secrets(variables), list(self.job["features"].get("token_mask_prefixes") or []))
        self.trace = Trace(self.coordinator, self.job["id"], self.job["token"], masker)
        threading.Thread(target=self._watch, daemon=True).start()
        state, reason, code = self._attempt(variables)
        self.stop.set()
        output = self.trace.finish()
        if not self.trace.stop_reason.startswith("403"):
            self._report(state, reason, code, output)
        return "success" if state == "success" else reason

    def _attempt(self, variables: script.Variables) -> tuple[str, str, int]:
        try:
            self._execute(variables)
        except ScriptFailure as failure:
            self.trace.line(f"{RED}ERROR: Job failed: {failure}\n{RESET}")
            return "failed", "script_failure", failure.code
        except SystemFailure as failure:
            self.trace.line(f"{RED}ERROR: Job failed (system failure): {failure}\n{RESET}")
            return "failed", failure.reason, 0
        except Stopped as stopped:
            kind = "" if stopped.reason == "job_execution_timeout" else " (system failure)"
            self.trace.line(f"{RED}ERROR: Job failed{kind}: {stopped}\n{RESET}")
            return "failed", stopped.reason, 0
        self.trace.line(f"{GREEN}Job succeeded{RESET}")
        return "success", "", 0

    def _execute(self, variables: script.Variables) -> None:
        self.trace.line(f"Running with gitlab-runner {VERSION} ({REVISION})")
        self.trace.line(
            f"  on {self.runner.name} {self.runner.short_token}, system ID: {self.coordinator.system_id}"
        )
        builds = self.work / "builds" / self.runner.short_token / str(self.slot)
        folder = builds / self.values["CI_PROJECT_PATH"]
        docker = Docker(
            self.runner,
            self.job,
            self.values,
            self.trace,
            builds,
            self.work / "storage" / self.runner.short_token,
            self.slot,
        )
        try:
            self._prepare(docker, folder)
            self._write_file_variables(variables, folder)
            self._sources(docker, folder)
            self._scripts(docker, folder)
        finally:
            with self.trace.section(
                "cleanup_file_variables", "Cleaning up project directory and file based variables"
            ):
                docker.cleanup()
                files.forget_remote(folder)

    def _prepare(self, docker: Docker, folder: Path) -> None:
        title = f'Preparing the "{self.runner.executor}" executor'
        with self.trace.section("prepare_executor", title):
            if self.runner.executor != "docker":
                raise SystemFailure(
                    f"executor not supported: {self.runner.executor}", "runner_configuration_error"
                )
            docker.builds.mkdir(parents=True, exist_ok=True)
            docker.prepare()
        with self.trace.section("prepare_script", "Preparing environment"):
            self.trace.line(f"Running on {docker.name} via {self.hostname}...")
        folder.parent.mkdir(parents=True, exist_ok=True)
        self._check_stop()

    def _sources(self, docker: Docker, folder: Path) -> None:
        with self.trace.section("get_sources", "Getting source from Git repository"):
            files.checkout(self.job, folder, self.trace, self.values.get("GIT_STRATEGY", "fetch"))
        self._check_stop()
        if self.job.get("cache") and not self.runner.docker.get("disable_cache"):
            with self.trace.section("restore_cache", "Restoring cache"):
                files.restore_cache(self.job, docker.storage, folder, self.trace)
        if self.job.get("dependencies"):
            with self.trace.section("download_artifacts", "Downloading artifacts"):
                files.download_dependencies(self.job, self.coordinator, folder, self.trace)

    def _scripts(self, docker: Docker, folder: Path) -> None:
        failure: Exception | None = None
        try:
            self._step_script(docker)
        except (ScriptFailure, Stopped) as error:
            failure = error
        if not self.abort.is_set() and not isinstance(failure, SystemFailure):
            self._after_script(docker, failure)
        self._keep_results(docker, folder, succeeded=failure is None)
        if failure:
            raise failure

    def _step_script(self, docker: Docker) -> None:
        steps = {step["name"]: step for step in self.job["steps"]}
        timeout_s = float(self.job["runner_info"]["timeout"] or 3600)
        began = time.monotonic()
        with self.trace.section("step_script", 'Executing "step_script" stage of the job script'):
            self.trace.line(f"Using docker image {docker.image} ...")
            before = [self.runner.pre_build_script] if self.runner.pre_build_script else []
            after = [self.runner.post_build_script] if self.runner.post_build_script else []
            lines = [*before, *steps["script"]["script"], *after]
            text = script.build(self.values, lines, self.values["CI_PROJECT_DIR"])
            code = docker.run(text, self.stop, timeout_s)
        self._check_stop()
        if time.monotonic() - began >= timeout_s:
            raise Stopped(f"execution took longer than {_words(timeout_s)} seconds", "job_execution_timeout")
        if code == DAEMON_ERROR:
            raise SystemFailure(f"docker run: exit code {code}")
        if code:
            raise ScriptFailure(code)

    def _after_script(self, docker: Docker, failure: Exception | None) -> None:
        steps = [step for step in self.job["steps"] if step["name"] == "after_script"]
        if not steps or self.trace.stop_reason.startswith("403"):
            return
        status = "success" if failure is None else "canceled" if isinstance(failure, Stopped) else "failed"
        with self.trace.section("after_script", "Running after_script"):
            text = script.build(
                self.values | {"CI_JOB_STATUS": status}, steps[0]["script"], self.values["CI_PROJECT_DIR"]
            )
            code = docker.run(text, self.abort, AFTER_SCRIPT_SECONDS)
            if code:
                words = f"after_script failed, but job will continue unaffected: exit code {code}"
                self.trace.line(f"{YELLOW}WARNING: {words}{RESET}")

    def _keep_results(self, docker: Docker, folder: Path, *, succeeded: bool) -> None:
        word = "successful" if succeeded else "failed"
        if self.job.get("cache") and not self.runner.docker.get("disable_cache"):
            with self.trace.section("archive_cache", f"Saving cache for {word} job"):
                files.save_cache(self.job, docker.storage, folder, self.trace, succeeded=succeeded)
        if self.job.get("artifacts") and not self.stop.is_set():
            with self.trace.section("upload_artifacts_on_success", f"Uploading artifacts for {word} job"):
                files.upload_artifacts(self.job, self.coordinator, folder, self.trace, succeeded=succeeded)

    def _check_stop(self) -> None:
        if self.abort.is_set():
            raise Stopped(f"aborted: {self.abort_signal}", "runner_system_failure")
        if self.trace.stopped.is_set():
            raise Stopped("canceled", "job_canceled")

    def _watch(self) -> None:
        while not self.stop.is_set():
            if self.abort.wait(0.1) or self.trace.stopped.is_set():
                self.stop.set()

    def _own_variables(self) -> list[dict[str, Any]]:
        image: dict[str, Any] = self.job.get("image") or {}
        path = next(str(item["value"]) for item in self.job["variables"] if item["key"] == "CI_PROJECT_PATH")
        pairs = {
            "CI_BUILDS_DIR": "/builds", "CI_PROJECT_DIR": f"/builds/{path}",
            "CI_CONCURRENT_ID": str(self.slot),
            "CI_CONCURRENT_PROJECT_ID": str(self.slot), "CI_DISPOSABLE_ENVIRONMENT": "true",
            "CI_RUNNER_VERSION": VERSION, "CI_RUNNER_REVISION": REVISION,
            "CI_RUNNER_SHORT_TOKEN": self.runner.short_token,
            "CI_RUNNER_EXECUTABLE_ARCH": "linux/amd64",
            "CI_JOB_IMAGE": str(image.get("name", "")),
        }  # fmt: skip
        given = dict(item.split("=", 1) for item in self.runner.environment if "=" in item)
        return [{"key": key, "value": value} for key, value in (pairs | given).items()]

    def _secrets(self, variables: script.Variables) -> list[str]:
        masked = [self.values[key] for key, item in variables.items() if item.get("masked")]
        return [*masked, str(self.job["token"]), self.runner.token]

    def _write_file_variables(self, variables: script.Variables, folder: Path) -> None:
        scratch = folder.parent / f"{folder.name}.tmp"
        for key, item in variables.items():
            if item.get("file"):
                scratch.mkdir(parents=True, exist_ok=True)
                (scratch / key).write_text(str(item["value"]))
                self.values[key] = f"{self.values['CI_PROJECT_DIR']}.tmp/{key}"

    def _report(self, state: str, reason: str, code: int, output: dict[str, object]) -> None:
        body: dict[str, Any] = {
            "info": self.coordinator.info(), "token": self.job["token"], "state": state, "output": output,
            "checksum": output["checksum"],
        } | ({"failure_reason": reason, "exit_code": code} if state == "failed" else {})  # fmt: skip
        for _ in range(UPDATE_ATTEMPTS):
            reply = self.coordinator.send("PUT", f"/jobs/{self.job['id']}", body)
            if reply.status in {200, 400, 403, 404}:
                return
            time.sleep(UPDATE_PAUSE_S)


def _words(seconds: float) -> str:
    hours, rest = divmod(int(seconds), 3600)
    minutes, left = divmod(rest, 60)
    return (f"{hours}h" if hours else "") + (f"{minutes}m" if hours or minutes else "") + f"{left}s"
