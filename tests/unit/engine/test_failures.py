"""A creation that fails under the real engine: the provider's error is shown, and nothing of Python's."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from engine_machine import NOWHERE, ROOT

pytestmark = pytest.mark.engine

Shell = Callable[..., CompletedProcess[str]]
REFUSAL = "no luck today"
NOISE = ("Traceback", "KeyboardInterrupt", "_InactiveRpcError", "never awaited", "exited unexpectedly")
UP = "pulumi stack init -s dev && pulumi up --yes --skip-preview --non-interactive --suppress-progress"

FAILING = """
import asyncio, threading
import pulumi, pulumi_gitlab as gitlab

provider = gitlab.Provider("gitlab", base_url={url!r}, token="secret")
options = pulumi.ResourceOptions(provider=provider)
for number in range({count}):
    project = gitlab.Project(f"p{{number}}", name=f"p{{number}}", opts=options)
    gitlab.ProjectVariable(f"v{{number}}", project=project.id, key="KEY", value="value", opts=options)
{busy}
"""
# A program that is in the middle of something when the engine ends it: SIGINT would leave its traceback.
BUSY = """
pulumi.export("never", pulumi.Output.from_input(asyncio.to_thread(threading.Event().wait)))
"""


class _Refusing(BaseHTTPRequestHandler):
    """GitLab's API, so far as it takes to be refused a project."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(200, {"id": 1, "username": "root"} if self.path.endswith("/user") else [])

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(400, {"message": REFUSAL})

    def _answer(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture
def refusing() -> Iterator[str]:
    """Run a server that refuses every creation; return its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/api/v4/"
        server.shutdown()
        thread.join()


def _fail(folder: Path, shell: Shell, url: str, count: int, busy: str) -> str:
    runtime = f"{{name: python, options: {{virtualenv: {ROOT / '.venv'}}}}}"
    (folder / "Pulumi.yaml").write_text(f"name: tried\nruntime: {runtime}\n", encoding="utf-8")
    program = FAILING.format(url=url, count=count, busy=busy)
    (folder / "__main__.py").write_text(program, encoding="utf-8")
    done = shell(f"{UP} 2>&1", folder)
    assert done.returncode not in {0, 124}, done.stdout
    return done.stdout


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("busy", ["", BUSY], ids=["idle", "busy"])
def test_a_refused_creation_shows_the_providers_error_alone(
    tmp_path: Path, engine_shell: Shell, refusing: str, busy: str, count: int
) -> None:
    output = _fail(tmp_path, engine_shell, refusing, count, busy)
    diagnostics = output.split("Diagnostics:")[1]
    assert diagnostics.count(REFUSAL) == count, output
    _assert_nothing_of_pythons(output)


@pytest.mark.parametrize("busy", ["", BUSY], ids=["idle", "busy"])
def test_an_unreachable_service_shows_the_providers_error_alone(
    tmp_path: Path, engine_shell: Shell, busy: str
) -> None:
    output = _fail(tmp_path, engine_shell, f"{NOWHERE}/api/v4/", 3, busy)
    assert output.split("Diagnostics:")[1].count("Connection refused") == 1, output
    _assert_nothing_of_pythons(output)


def _assert_nothing_of_pythons(output: str) -> None:
    for noise in NOISE:
        assert noise not in output, output
