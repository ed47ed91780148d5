"""The controller's machine, played by real cloud-init: a first boot that fails, the way on, a reboot."""

import hashlib
import http.server
import io
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
import yaml
from lab import Lab, console, report, sh

from localcloud.guests.guest import Guest
from shadow_gpu_runners import boot, controller_boot
from shadow_gpu_runners.boot_files import BootSettings
from shadow_gpu_runners.controller_boot import ControllerSettings

pytestmark = pytest.mark.slow

VOLUME = "ad87e2d7-1967-488d-a95f-574b46c6d582"
WHEEL = "shadow_autoscaler-0.1.0-py3-none-any.whl"
PROGRAM = """
import http.server, re, sys, urllib.request

class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

def main():
    verb, text = sys.argv[1], open(sys.argv[-1]).read() if "--config" in sys.argv else ""
    if verb == "config":
        urllib.request.urlopen(re.search(r"asks: (\\S+)", text)[1])
    if verb == "serve":
        port = int(re.search(r"port: (\\d+)", text)[1])
        http.server.HTTPServer(("127.0.0.1", port), Answer).serve_forever()
"""
INFO = "shadow_autoscaler-0.1.0.dist-info"
FILES = {
    "shadow_autoscaler/__init__.py": PROGRAM,
    "shadow_autoscaler/requirements.txt": "# nothing\n",
    f"{INFO}/METADATA": "Metadata-Version: 2.1\nName: shadow-autoscaler\nVersion: 0.1.0\n",
    f"{INFO}/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{INFO}/entry_points.txt": "[console_scripts]\nshadow-autoscaler = shadow_autoscaler:main\n",
    f"{INFO}/RECORD": "".join(f"{name},,\n" for name in ("shadow_autoscaler/__init__.py", f"{INFO}/RECORD")),
}


def wheel() -> bytes:
    """Return a wheel whose program answers on the configured port, and checks its configuration elsewhere."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in FILES.items():
            archive.writestr(name, text)
    return buffer.getvalue()


@dataclass(slots=True)
class Outside:
    """Serves the wheel, and says whether the configuration passes."""

    passes: threading.Event = field(default_factory=threading.Event)
    wheel: bytes = field(default_factory=wheel)
    url: str = ""


@pytest.fixture
def outside() -> Iterator[Outside]:
    made = Outside()

    class Handler(http.server.BaseHTTPRequestHandler):
        known: ClassVar[Outside] = made

        def do_GET(self) -> None:
            body = self.known.wheel if self.path.endswith(".whl") else b""
            self.send_response(200 if body or self.known.passes.is_set() else 503)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing on the terminal."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    made.url = f"http://127.0.0.1:{server.server_port}"
    yield made
    server.shutdown()
    server.server_close()


def free_port() -> int:
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as probe:
        return probe.server_port


def user_data(outside: Outside) -> str:
    port = free_port()
    settings = ControllerSettings(
        url=f"http://127.0.0.1:{port}",
        config={"asks": f"{outside.url}/config", "pools": []},
        templates={"a": "#cloud-config\n", "b": "#cloud-config\n"},
        secrets={"callback-key": "planted-9121"},
        clouds_yaml="clouds: {}\n",
        wheel_url=f"{outside.url}/{WHEEL}",
        wheel_sha256=hashlib.sha256(outside.wheel).hexdigest(),
        deployment="p.s",
        data_volume_id=VOLUME,
        tls="none",
        port=port,
        boot=BootSettings("", gpu_count=0, repositories=(), packages=controller_boot.packages("none")),
    )
    document: dict[str, Any] = yaml.safe_load(controller_boot.user_data(settings))
    drop_in = f"/etc/systemd/system/{boot.SERVE_UNIT}.d/test.conf"
    quick = {"path": drop_in, "content": "[Service]\nEnvironment=SHADOW_FIRST_PAUSE_S=1\n"}
    return "#cloud-config\n" + yaml.safe_dump({**document, "write_files": [*document["write_files"], quick]})


def said(guest: Guest, text: str) -> int:
    return console(guest).count(f"shadow-runner: {text}")


def until_ready(lab: Lab, guest: Guest, boots: int) -> None:
    lab.until(lambda: said(guest, "phase=ready status=ok") == boots, f"ready: {console(guest)[-3000:]}")


def test_a_first_boot_that_fails_goes_on_by_itself_and_a_reboot_closes_the_route_again(
    lab: Lab, outside: Outside
) -> None:
    guest = lab.add(user_data(outside), name="controller", volumes=(VOLUME,))
    lab.until(lambda: said(guest, "phase=retry status=wait reason=attempt 1 failed"), console(guest)[-3000:])
    assert said(guest, "phase=config status=failed reason=the configuration is refused") == 1
    assert sh(guest, "systemctl is-active shadow-autoscaler").stdout.strip() != "active"
    outside.passes.set()
    until_ready(lab, guest, boots=1)
    serves(guest)
    look = "stat -c %a:%U secrets/callback-key; ls user-data /etc/shadow-runner/controller"
    assert sh(guest, f"cd /etc/shadow-autoscaler; {look}").stdout.split() == [
        "600:shadow-autoscaler",
        "user-data:",
        "a.yaml",
        "b.yaml",
    ]
    sh(guest, "echo kept >/var/lib/shadow-autoscaler/state")
    boots = report(guest)["boots"]
    lab.servers.reboot(guest.id)
    lab.until(lambda: report(guest).get("boots") == boots + 1, "the next boot")
    until_ready(lab, guest, boots=2)
    serves(guest)
    assert sh(guest, "cat /var/lib/shadow-autoscaler/state").stdout == "kept\n"
    assert f"/volumes/{VOLUME} " in sh(guest, "grep /var/lib/shadow-autoscaler /proc/self/mountinfo").stdout


def serves(guest: Guest) -> None:
    assert sh(guest, "systemctl is-active shadow-autoscaler").stdout.strip() == "active"
    rule = "-A OUTPUT -d 169.254.169.254/32 -m owner ! --uid-owner 0 -j REJECT"
    assert rule in sh(guest, "iptables -S").stdout
