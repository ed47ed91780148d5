"""The runner's side of GitLab's HTTP protocol."""

import json
import platform
import secrets
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

VERSION = "18.5.0"
REVISION = "bda84871"
TIMEOUT_S = 30.0
FEATURES = {
    "variables": True, "image": True, "services": True, "artifacts": True, "cache": True,
    "fallback_cache_keys": True,
    "shared": True, "upload_multiple_artifacts": True, "upload_raw_artifacts": True, "session": False,
    "terminal": False, "refspecs": True, "masking": True, "proxy": False, "raw_variables": True,
    "artifacts_exclude": True, "multi_build_steps": True, "trace_reset": True, "trace_checksum": True,
    "trace_size": True, "vault_secrets": False, "cancelable": True, "cancel_gracefully": True,
    "return_exit_code": True, "service_variables": True, "service_multiple_aliases": True,
    "image_executor_opts": False, "service_executor_opts": False, "native_steps_integration": False,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; status 0 means that there was none, with the reason in `text`."""

    status: int
    text: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    content: bytes = b""

    def json(self) -> dict[str, Any]:
        """The body as a JSON object."""
        value: dict[str, Any] = json.loads(self.text)
        return value


@dataclass(frozen=True, slots=True)
class Coordinator:
    """A GitLab server as one runner sees it."""

    url: str
    token: str
    system_id: str
    executor: str = "docker"
    gpus: str = ""

    def info(self) -> dict[str, Any]:
        """What the runner says about itself."""
        machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
        return {
            "name": "gitlab-runner", "version": VERSION, "revision": REVISION, "platform": "linux",
            "architecture": machine, "executor": self.executor, "shell": "bash", "features": FEATURES,
            "config": {"gpus": self.gpus},
        }  # fmt: skip

    def call(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Reply:
        """Send one request below /api/v4."""
        request = urllib.request.Request(  # noqa: S310 - the URL is the administrator's own
            f"{self.url}/api/v4{path}",
            data=body,
            method=method,
            headers=(headers or {}) | {"User-Agent": _agent()},
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=TIMEOUT_S) as reply:
                return _reply(reply.status, reply.read(), dict(reply.headers))
        except urllib.error.HTTPError as error:
            with error:
                return _reply(error.code, error.read(), dict(error.headers))
        except (OSError, ValueError) as error:
            return Reply(0, str(error))

    def send(self, method: str, path: str, value: dict[str, Any]) -> Reply:
        """Send a JSON object."""
        return self.call(method, path, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def request_job(self, last_update: str) -> Reply:
        """Ask for a job; 201 with it, or 204."""
        body = {
            "info": self.info(),
            "token": self.token,
            "system_id": self.system_id,
            "last_update": last_update,
        }
        return self.send("POST", "/jobs/request", body)

    def verify(self) -> Reply:
        """Check the token."""
        return self.send("POST", "/runners/verify", {"token": self.token, "system_id": self.system_id})

    def upload(self, job_id: int, token: str, file: Path, fields: dict[str, str]) -> Reply:
        """Upload one artifact file."""
        boundary = secrets.token_hex(16)
        parts = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
            for name, value in fields.items()
        ]
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{file.name}"\r\n'
        parts += [head.encode(), b"Content-Type: application/octet-stream\r\n\r\n", file.read_bytes()]
        body = b"".join([*parts, f"\r\n--{boundary}--\r\n".encode()])
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}", "JOB-TOKEN": token}
        return self.call("POST", f"/jobs/{job_id}/artifacts", body, headers)


def _agent() -> str:
    return f"gitlab-runner {VERSION} (main; go1.24.6; linux/amd64)"


def _reply(status: int, content: bytes, headers: dict[str, str]) -> Reply:
    lower = {name.lower(): value for name, value in headers.items()}
    return Reply(status, content.decode(errors="replace"), lower, content)
