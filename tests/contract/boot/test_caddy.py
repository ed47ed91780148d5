"""The generated Caddyfile in the real Caddy, of Debian's package, on loopback."""

import http.server
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest

from localcloud import certificates
from localcloud.guests import cloud_init
from localcloud.paths import cache_home, content_hash
from localcloud.processes import wait_until
from shadow_gpu_runners.controller_boot import ControllerSettings, caddyfile

pytestmark = pytest.mark.slow

SETTINGS = ControllerSettings(
    url="https://ci.example.com",
    config={},
    templates={},
    secrets={},
    clouds_yaml="",
    wheel_url="",
    wheel_sha256="",
    deployment="test",
    tls="certificate",
)


@pytest.fixture(scope="module")
def caddy() -> Path:
    """The program that is installed, or Debian's, unpacked into the cache."""
    if found := shutil.which("caddy"):
        return Path(found)
    target = cache_home() / f"caddy-{content_hash(Path('/etc/os-release'))}"
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            fetch = ["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", "caddy"]
            subprocess.run(fetch, cwd=scratch, check=True, capture_output=True)
            (package,) = Path(scratch).glob("caddy_*.deb")
            tree = Path(scratch) / "tree"
            subprocess.run(["dpkg-deb", "--extract", str(package), str(tree)], check=True)
            cloud_init.publish(tree, target)
    return target / "usr/bin/caddy"


class Controller(http.server.BaseHTTPRequestHandler):
    """Answers with what came through."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        size = len(self.rfile.read(int(self.headers["Content-Length"])))
        if size < int(self.headers["Content-Length"]):  # given up by who sends it
            self.close_connection = True
            return
        text = f"{size} {self.headers['X-Forwarded-For']} {self.headers['X-Forwarded-Proto']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing."""


@dataclass(frozen=True, slots=True)
class Front:
    """Caddy as it runs."""

    url: str
    certificate: Path


@pytest.fixture(scope="module")
def front(caddy: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    """Run Caddy with a certificate of our own before a controller; only loopback is listened on."""
    folder = tmp_path_factory.mktemp("caddy")
    port, plain = free_port(), free_port()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Controller)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    settings = replace(SETTINGS, url=f"https://localhost:{port}", port=server.server_address[1])
    certificate = certificates.self_signed(folder).certificate
    # Paths and ports of a test in place of the machine's; the rest is as generated.
    text = caddyfile(settings).replace("/etc/caddy/", f"{folder}/")
    local = f"admin off\n\thttp_port {plain}\n\tdefault_bind 127.0.0.1\n"
    (folder / "Caddyfile").write_text(text.replace("admin off\n", local))
    process = run(caddy, folder, "run")
    try:
        assert wait_until(lambda: process.poll() is not None or answers(port), 60)
        assert process.poll() is None, (folder / "run.log").read_text()
        yield Front(settings.url, certificate)
    finally:
        process.terminate()
        process.wait(30)
        server.shutdown()
        server.server_close()


def run(caddy: Path, folder: Path, verb: str) -> subprocess.Popen[bytes]:
    command = [str(caddy), verb, "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_DATA_HOME": str(folder / "data")}
    with (folder / f"{verb}.log").open("wb") as log:
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def client(front: Front) -> httpx.Client:
    trust = ssl.create_default_context(cafile=str(front.certificate))
    return httpx.Client(base_url=front.url, verify=trust, trust_env=False, timeout=60)


def test_the_controller_is_served_with_the_own_certificate(front: Front) -> None:
    with client(front) as http_client:
        answer = http_client.post("/webhook/github", content=b"x" * 1000)
    assert (answer.status_code, answer.text) == (200, "1000 127.0.0.1 https")


def test_who_does_not_trust_the_certificate_gets_no_answer(front: Front) -> None:
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx.post(f"{front.url}/webhook/github", content=b"x", trust_env=False, timeout=60)


def test_githubs_largest_payload_comes_through_and_more_does_not(front: Front) -> None:
    largest = 25 * 1024 * 1024
    with client(front) as http_client:
        assert http_client.post("/webhook/github", content=bytes(largest)).text.startswith(f"{largest} ")
        assert http_client.post("/webhook/github", content=bytes(largest + 2 * 1024 * 1024)).is_error


@pytest.mark.parametrize("email", ["", "ops@example.com"])
def test_caddy_takes_the_configuration_that_gets_certificates_by_acme(
    caddy: Path, tmp_path: Path, email: str
) -> None:
    (tmp_path / "Caddyfile").write_text(caddyfile(replace(SETTINGS, tls="acme", acme_email=email)))
    checked = run(caddy, tmp_path, "validate")
    assert checked.wait(60) == 0, (tmp_path / "validate.log").read_text()
