"""Runs one job: its steps in order, its log to the service, its end reported whatever happens."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any

from job_log import JobLog
from service import ServiceError, complain
from step import StepFiles, run_script

if TYPE_CHECKING:
    from pathlib import Path

    from service import Service

_RENEW_S = 2.0
_RESULTS = {"success": "Succeeded", "failure": "Failed", "cancelled": "Canceled"}
_SHUTDOWN = (
    "The runner has received a shutdown signal. This can happen when the runner service is stopped, "
    "or a manually started runner is canceled."
)
_KEPT = ("PATH", "HOME", "LANG", "USER", "LOGNAME", "SHADOW_METADATA_URL", "RUNNER_ALLOW_RUNASROOT")


class Job:
    """One acquired job."""

    def __init__(self, service: Service, message: dict[str, Any], work: Path, runner: str) -> None:
        self._service = service
        self._message = message
        self._path = f"/jobs/{message['job_id']}"
        self._cancelled = threading.Event()
        # Ends the step that runs now; the steps that clean up afterwards are let run.
        self._interrupt = threading.Event()
        self._shut_down = threading.Event()
        self._done = threading.Event()
        self._log = JobLog(self._send_log, message["mask"])
        self._folder = work
        self._runner = runner
        self._failed = False
        self._added_env: dict[str, str] = {}
        self._added_path: list[str] = []

    def shut_down(self) -> None:
        """The machine goes away: stop the step, report a failure."""
        self._shut_down.set()
        self._cancel()

    def _cancel(self) -> None:
        if not self._cancelled.is_set():
            self._cancelled.set()
            self._interrupt.set()

    def run(self) -> str:
        """Run all steps; result in the runner's words."""
        keeper = threading.Thread(target=self._renew, daemon=True)
        keeper.start()
        conclusion = "failure"
        try:
            workspace = self._prepare()
            if self._hook("ACTIONS_RUNNER_HOOK_JOB_STARTED", workspace):
                for index in range(self._message["steps"]):
                    if not self._shut_down.is_set():
                        self._step(index, workspace)
            self._hook("ACTIONS_RUNNER_HOOK_JOB_COMPLETED", workspace)
            conclusion = self._conclusion()
        finally:
            self._done.set()
            self._finish(conclusion)
        return _RESULTS[conclusion]

    def _conclusion(self) -> str:
        if self._shut_down.is_set() or (self._failed and not self._cancelled.is_set()):
            return "failure"
        return "cancelled" if self._cancelled.is_set() else "success"

    def _finish(self, conclusion: str) -> None:
        if self._shut_down.is_set():
            self._log.write(f"##[error]{_SHUTDOWN}")
        self._log.flush()
        self._service.call("POST", f"{self._path}/complete", {"conclusion": conclusion})

    def _prepare(self) -> Path:
        name = str(self._message["env"]["GITHUB_REPOSITORY"]).rpartition("/")[2]
        workspace = self._folder / name / name
        temporary = self._folder / "_temp"
        shutil.rmtree(temporary, ignore_errors=True)
        for folder in (workspace, temporary):
            folder.mkdir(parents=True, exist_ok=True)
        (temporary / "event.json").write_text(json.dumps(self._message["event"]))
        self._log.write(f"Current runner name: '{self._runner}'")
        return workspace

    def _environment(self, workspace: Path, files: StepFiles, own: dict[str, str]) -> dict[str, str]:
        temporary = self._folder / "_temp"
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        path = os.pathsep.join([*reversed(self._added_path), kept.get("PATH", os.defpath)])
        return {
            **kept,
            **self._message["env"],
            "GITHUB_WORKSPACE": str(workspace),
            "GITHUB_EVENT_PATH": str(temporary / "event.json"),
            "RUNNER_NAME": self._runner,
            "RUNNER_OS": "Linux",
            "RUNNER_ARCH": "X64",
            "RUNNER_TEMP": str(temporary),
            "RUNNER_TOOL_CACHE": str(self._folder / "_tool"),
            "RUNNER_WORKSPACE": str(workspace.parent),
            **files.environment(),
            **self._added_env,
            **own,
            "PATH": own.get("PATH", path),
        }

    def _step(self, index: int, workspace: Path) -> None:
        base = f"{self._path}/steps/{index}"
        told = self._service.call("POST", f"{base}/begin", {})
        if told["skip"]:
            return
        files = StepFiles(self._folder / "_temp", index)
        scripted = "run" in told
        outcome = self._script(told, workspace, files) if scripted else self._action(told, workspace)
        if self._interrupt.is_set() and outcome == "failure":
            outcome = "cancelled"
        self._interrupt.clear()
        self._failed = self._failed or outcome == "failure"
        self._added_env.update(files.variables("env"))
        self._added_path.extend(files.lines("path"))
        self._log.flush()
        outputs = {**self._log.take_outputs(), **files.variables("output")}
        self._service.call("POST", f"{base}/end", {"outcome": outcome, "outputs": outputs})

    def _script(self, told: dict[str, Any], workspace: Path, files: StepFiles) -> str:
        self._log.write(f"##[group]{told['name']}")
        for line in told["run"].rstrip().splitlines():
            self._log.write(line)
        self._log.write(f"shell: {told['shell']}")
        self._log.write("##[endgroup]")
        folder = workspace / told["working_directory"]
        environment = self._environment(workspace, files, told["env"])
        script = files.script(told["run"])
        code = run_script(
            told["shell"], script, folder, environment, self._log, self._interrupt, told["timeout_s"]
        )
        if code != 0:
            self._log.write(f"##[error]Process completed with exit code {code}.")
        return "success" if code == 0 else "failure"

    def _action(self, told: dict[str, Any], workspace: Path) -> str:
        self._log.write(f"##[group]Run {told['uses']}")
        self._log.write("##[endgroup]")
        if told["files"] is None:
            self._log.write(
                f"##[warning]{told['uses']} is not run by the stand-in runner; it counts as done."
            )
            return "success"
        for name, content in told["files"].items():
            target = workspace / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(base64.b64decode(content))
            target.chmod(0o755 if name in told["executable"] else 0o644)
        self._log.write(f"Checked out {len(told['files'])} files")
        return "success"

    def _hook(self, name: str, workspace: Path) -> bool:
        """Run the administrator's script before or after the job; a failure fails the job."""
        script = os.environ.get(name)
        if not script:
            return True
        environment = self._environment(workspace, StepFiles(self._folder / "_temp", -1), {})
        done = subprocess.run(
            ["bash", script], cwd=workspace, env=environment, capture_output=True, text=True, check=False
        )
        for line in (done.stdout + done.stderr).splitlines():
            self._log.write(line)
        self._failed = self._failed or done.returncode != 0
        return done.returncode == 0

    def _renew(self) -> None:
        while not self._done.wait(_RENEW_S):
            try:
                answer = self._service.call("POST", f"{self._path}/renew", {})
            except ServiceError as error:
                complain(f"The job could not be renewed: {error}")
                continue
            if answer["cancel"]:
                self._cancel()

    def _send_log(self, text: str) -> None:
        for pause in (0, 1, 2, 4):
            time.sleep(pause)
            try:
                self._service.call("POST", f"{self._path}/log", {"text": text})
            except ServiceError as error:
                complain(f"The log could not be sent: {error}")
            else:
                return
