"""The docker executor: which image a job may use, how it is pulled, and running scripts in it."""

import fnmatch
import hashlib
import os
import signal
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from localcloud.standins._gitlab_runner_config import Runner
from localcloud.standins._gitlab_runner_script import expand
from localcloud.standins._gitlab_runner_trace import Trace

PULL_FLAGS = {"always": "always", "if-not-present": "missing", "never": "never"}
DAEMON_ERROR = 125
STOP_SECONDS = 10.0
CHUNK = 4096


class SystemFailure(Exception):  # noqa: N818 - GitLab Runner's own word for it
    """The job can't run for a reason that isn't its own; `reason` is GitLab's failure reason."""

    def __init__(self, text: str, reason: str = "runner_system_failure") -> None:
        super().__init__(text)
        self.reason = reason


@dataclass(slots=True)
class Docker:
    """The containers of one job."""

    runner: Runner
    job: dict[str, Any]
    values: dict[str, str]
    trace: Trace
    builds: Path
    storage: Path
    slot: int
    image: str = ""
    pull: str = "missing"
    process: subprocess.Popen[bytes] | None = None
    services: list[str] = field(default_factory=list[str])

    @property
    def name(self) -> str:
        """The build container's name."""
        project = self.job["job_info"]["project_id"]
        return f"runner-{self.runner.short_token.lower()}-project-{project}-concurrent-{self.slot}"

    def prepare(self) -> None:
        """Choose and pull the image, and start the services."""
        wanted: dict[str, Any] = self.job.get("image") or {}
        self.image = expand(str(wanted.get("name") or self.runner.docker.get("image", "")), self.values)
        if not self.image:
            raise SystemFailure("no Docker image specified to run the build in", "runner_configuration_error")
        self.trace.line(f"Using Docker executor with image {self.image} ...")
        self._require_allowed(self.image, "allowed_images", "images")
        self.pull = self._pull_policy(list(wanted.get("pull_policy") or []))
        self._pull(self.image)
        services: list[dict[str, Any]] = [
            *self.runner.docker.get("services", []),
            *(self.job.get("services") or []),
        ]
        for index, service in enumerate(services):
            self._start_service(index, service)

    def _require_allowed(self, image: str, key: str, what: str) -> None:
        patterns = [str(item) for item in self.runner.docker.get(key, [])]
        own = str(self.runner.docker.get("image", ""))
        if not patterns or image == own or any(fnmatch.fnmatchcase(image, pattern) for pattern in patterns):
            return
        self.trace.line(f'\x1b[31;1mERROR: The "{image}" image is not present on list of allowed {what}:')
        for pattern in patterns:
            self.trace.line(f"- {pattern}")
        self.trace.line("\x1b[0;mPlease check runner's configuration: "
                        "https://docs.gitlab.com/runner/configuration/advanced-configuration/")  # fmt: skip
        raise SystemFailure("disallowed image", "runner_configuration_error")

    def _pull_policy(self, wanted: list[str]) -> str:
        given = self.runner.docker.get("pull_policy", "always")
        configured = [given] if isinstance(given, str) else [str(item) for item in given]
        allowed = [str(item) for item in self.runner.docker.get("allowed_pull_policies", [])] or configured
        refused = [policy for policy in wanted if policy not in allowed]
        if refused:
            raise SystemFailure(
                f"failed to pull image: the configured PullPolicies ({refused}) "
                f"are not allowed by AllowedPullPolicies ({allowed})",
                "runner_configuration_error",
            )
        policy = (wanted or configured)[0]
        if policy not in PULL_FLAGS:
            raise SystemFailure(f"unsupported pull_policy config: {policy!r}", "runner_configuration_error")
        return PULL_FLAGS[policy]

    def _pull(self, image: str) -> None:
        known = self._call("image", "inspect", image).returncode == 0
        if self.pull == "never" or (self.pull == "missing" and known):
            if not known:
                raise self._unpullable(image, "no such image")
            self.trace.line(f"Using locally found image version due to {self.pull!r} pull policy")
            return
        self.trace.line(f"Pulling docker image {image} ...")
        done = self._call("pull", image)
        if done.returncode:
            raise self._unpullable(image, done.stderr.decode(errors="replace").strip())

    def _unpullable(self, image: str, why: str) -> SystemFailure:
        text = f"failed to pull image {image!r} with specified policies [{self.pull}]: {why}"
        return SystemFailure(text, "image_pull_failure")

    def _start_service(self, index: int, service: dict[str, Any]) -> None:
        image = expand(str(service["name"]), self.values)
        self._require_allowed(image, "allowed_services", "services")
        self.trace.line(f"Starting service {image}...")
        self._pull(image)
        name = f"{self.name}-service-{index}"
        gpus = str(self.runner.docker.get("service_gpus", ""))
        options = ["-d", "--name", name, "--pull", "never", *(["--gpus", gpus] if gpus else [])]
        done = self._call("run", *options, image, *map(str, service.get("command") or []))
        if done.returncode:
            raise SystemFailure(f"starting service {image!r}: {done.stderr.decode(errors='replace').strip()}")
        self.services.append(name)

    def run(self, script: str, stop: threading.Event, timeout_s: float) -> int:
        """Run a script in a fresh container; its exit code. `stop` or the timeout kill it."""
        self._call("rm", "-f", self.name)
        self.process = subprocess.Popen(
            ["docker", "run", "--rm", "-i", "--name", self.name, *self._options(), self.image, "sh"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        reader = threading.Thread(target=self._copy_output, daemon=True)
        reader.start()
        if self.process.stdin:
            with suppress(BrokenPipeError):
                self.process.stdin.write(script.encode())
                self.process.stdin.close()
        watcher = threading.Thread(target=self._kill_when, args=(stop, timeout_s), daemon=True)
        watcher.start()
        code = self.process.wait()
        reader.join()
        return code

    def _copy_output(self) -> None:
        stream = self.process.stdout if self.process else None
        while stream and (chunk := os.read(stream.fileno(), CHUNK)):
            self.trace.write(chunk)

    def _kill_when(self, stop: threading.Event, timeout_s: float) -> None:
        process, waited = self.process, 0.0
        while process and process.poll() is None:
            if stop.wait(0.1) or waited >= timeout_s:
                self.kill()
                return
            waited += 0.1

    def kill(self) -> None:
        """End the build container and its client."""
        self._call("kill", self.name)
        if self.process and self.process.poll() is None:
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(self.process.pid, signal.SIGKILL)

    def cleanup(self) -> None:
        """Remove what may be left of the job's containers."""
        for name in (self.name, *self.services):
            self._call("rm", "-f", name)

    def _options(self) -> list[str]:
        docker = self.runner.docker
        found = ["--pull", "never", "-w", "/", "-v", f"{self.builds}:/builds"]
        for volume in docker.get("volumes", []):
            found += ["-v", self._volume(str(volume))]
        pairs = (
            ("gpus", "--gpus"), ("runtime", "--runtime"), ("network_mode", "--network"),
            ("hostname", "--hostname"),
            ("user", "--user"), ("memory", "--memory"), ("cpus", "--cpus"), ("shm_size", "--shm-size"),
        )  # fmt: skip
        for key, option in pairs:
            if docker.get(key):
                found += [option, str(docker[key])]
        lists = (("devices", "--device"), ("cap_add", "--cap-add"), ("cap_drop", "--cap-drop"),
                 ("security_opt", "--security-opt"), ("extra_hosts", "--add-host"))  # fmt: skip
        for key, option in lists:
            for value in docker.get(key, []):
                found += [option, str(value)]
        image: dict[str, Any] = self.job.get("image") or {}
        entry: list[str] | None = image.get("entrypoint")
        if entry is not None and not docker.get("disable_entrypoint_overwrite"):
            found += ["--entrypoint", str(entry[0]) if entry else ""]
        return found + (["--privileged"] if docker.get("privileged") else [])

    def _volume(self, text: str) -> str:
        if ":" in text:
            return text
        digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
        folder = self.storage / f"volume-{self.job['job_info']['project_id']}-{self.slot}-{digest}"
        folder.mkdir(parents=True, exist_ok=True)
        return f"{folder}:{text}"

    @staticmethod
    def _call(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(
                ["docker", *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False
            )
        except OSError as error:
            raise SystemFailure(f"Cannot connect to the Docker daemon: {error.strerror}") from None
