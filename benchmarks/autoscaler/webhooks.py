"""Times webhooks at a steady rate and in bursts, counts losses, and times job queued to create call sent.

    .venv/bin/python benchmarks/autoscaler/webhooks.py --rate 200 --seconds 20 --burst 1000

The real server runs on one core with SQLite (write-ahead log, full synchronisation) and decides on what comes
in at the same time; the sender has the other core. Times count from the planned moment of sending, so that a
slow answer is not hidden by the sender's waiting for it.
"""

import argparse
import asyncio
import hashlib
import hmac
import json
import os
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import yaml

HERE = Path(__file__).parent
CONNECTIONS = 32
SECRET = "h" * 40


@dataclass(frozen=True)
class Series:
    """Answers to one series of webhooks."""

    name: str
    sent: int
    accepted: int
    seconds: list[float]

    def row(self) -> str:
        """Return a row of the table."""
        ordered = sorted(self.seconds)
        p50, p99 = (1000 * ordered[int(len(ordered) * share)] for share in (0.5, 0.99))
        longest, lost = 1000 * ordered[-1], self.sent - self.accepted
        return f"| {self.name} | {p50:.1f} | {p99:.1f} | {longest:.0f} | {lost} |"


def main() -> None:
    """Run all series and print the tables."""
    options = _options()
    os.sched_setaffinity(0, {1 % (os.cpu_count() or 1)})
    with tempfile.TemporaryDirectory() as folder:
        server, port = _start(Path(folder))
        try:
            before = _cpu(server.pid)
            series = asyncio.run(_series(port, options))
            _drained(Path(folder))
            used = _cpu(server.pid) - before
            _report(series, Path(folder), options)
            each = 1000 * used / (50 + sum(one.sent for one in series))
            print(f"CPU of the server per webhook, handling included: {each:.1f} ms")
        finally:
            server.terminate()
            server.wait(60)


async def _series(port: int, options: argparse.Namespace) -> list[Series]:
    first = await _send(port, "warm-up", 50, 50, 0)
    del first
    steady = await _send(port, f"{options.rate}/s", options.rate * options.seconds, options.rate, 1_000)
    await asyncio.sleep(5)
    burst = await _send(port, f"burst of {options.burst} in 1 s", options.burst, options.burst, 100_000)
    await asyncio.sleep(2)
    return [steady, burst]


async def _send(port: int, name: str, count: int, rate: int, first: int) -> Series:
    requests = [_request(port, first + number, "h100") for number in range(count)]
    start = time.perf_counter() + 0.1
    plan = [(start + number / rate, request) for number, request in enumerate(requests)]
    lanes = [plan[lane::CONNECTIONS] for lane in range(CONNECTIONS)]
    answers = await asyncio.gather(*(_lane(port, lane) for lane in lanes))
    seconds = [taken for lane in answers for taken, _ in lane]
    return Series(name, count, sum(good for lane in answers for _, good in lane), seconds)


async def _lane(port: int, plan: Sequence[tuple[float, bytes]]) -> list[tuple[float, bool]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answers: list[tuple[float, bool]] = []
    for due, request in plan:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        answers.append((time.perf_counter() - due, head.startswith(b"HTTP/1.1 202")))
    writer.close()
    return answers


def _request(port: int, number: int, label: str) -> bytes:
    job = {
        "id": 50_000 + number,
        "run_id": number,
        "run_attempt": 1,
        "name": "train",
        "status": "queued",
        "conclusion": None,
        "labels": ["self-hosted", label],
        "runner_id": None,
        "runner_name": None,
        "created_at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "head_branch": "main",
        "html_url": "https://github.example/acme/models",
        # GitHub's own bodies have some 10 KB: users, repository, organisation.
        "padding": "x" * 10_000,
    }
    document = {"action": "queued", "workflow_job": job, "repository": {"full_name": "acme/models"}}
    body = json.dumps(document).encode()
    signature = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    head = (
        f"POST /webhook/github HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"X-GitHub-Event: workflow_job\r\nX-GitHub-Delivery: g-{number}\r\n"
        f"X-Hub-Signature-256: sha256={signature}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _report(series: Sequence[Series], folder: Path, options: argparse.Namespace) -> None:
    print("| webhooks | p50 ms | p99 ms | longest ms | lost |\n|---|---|---|---|---|")
    for one in series:
        print(one.row())
    with closing(sqlite3.connect(folder / "autoscaler.db")) as db:
        (rows,) = db.execute("SELECT count(*) FROM inbox").fetchone()
    accepted = 50 + sum(one.accepted for one in series)
    print(f"\n{rows} of {accepted} accepted webhooks are in the inbox's table")
    waits = _create_calls(folder, options.creates)
    ordered = sorted(waits)
    print(
        f"webhook sent to create call sent: p50 {1000 * statistics.median(ordered):.1f} ms, "
        f"longest {1000 * ordered[-1]:.1f} ms over {len(ordered)} jobs"
    )


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _drained(folder: Path) -> None:
    end = time.monotonic() + 120
    with closing(sqlite3.connect(folder / "autoscaler.db")) as db:
        while time.monotonic() < end:
            if db.execute("SELECT count(*) FROM inbox WHERE closed_at IS NULL").fetchone() == (0,):
                return
            time.sleep(0.2)
    raise TimeoutError("the inbox was not worked off within two minutes")


def _create_calls(folder: Path, count: int) -> list[float]:
    port = int((folder / "port").read_text())
    waits: list[float] = []
    for number in range(200_000, 200_000 + count):
        sent = time.time()
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(_request(port, number, "shadow-gpu"))
            connection.recv(4096)
        waits.append(_noted(folder, 50_000 + number) - sent)
        time.sleep(0.1)
    return waits


def _noted(folder: Path, job: int) -> float:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        for line in (folder / "notes").read_text().splitlines() if (folder / "notes").exists() else ():
            name, _, at = line.partition(" ")
            if f":{job}:" in name:
                return float(at)
        time.sleep(0.001)
    raise TimeoutError(f"no create call for job {job}")


def _start(folder: Path) -> tuple["subprocess.Popen[bytes]", int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "port").write_text(str(port))
    _write(folder, port)
    command = [sys.executable, str(HERE / "inert_server.py"), str(folder / "c.yaml"), str(folder / "notes")]
    server = subprocess.Popen(command)
    end = time.monotonic() + 30
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return server, port
        time.sleep(0.05)
    raise TimeoutError("the server did not listen within 30 s")


def _write(folder: Path, port: int) -> None:
    (folder / "secrets").mkdir()
    for name in ("callback-key", "hook", "github"):
        (folder / "secrets" / name).write_text(SECRET)
    (folder / "pool.yaml").write_text("@SHADOW_VM@ @SHADOW_TICKET@ @SHADOW_CALLBACK@")
    pool = {
        "name": "rtx2000",
        "forge": "github",
        "labels": ["self-hosted", "shadow-gpu"],
        "ladder": [{"flavor": "spot", "market": "spot"}],
        "max": 1000,
        "user_data_file": "pool.yaml",
    }
    document = {
        "deployment": "benchmark",
        "callback_url": "http://127.0.0.1",
        "listen": {"port": port},
        "store": {"path": "autoscaler.db"},
        "secrets": {"directory": "secrets"},
        "github": {"owner": "acme", "token": "github", "webhook_secret": "hook"},
        "openstack": {"cloud": "none", "image": "none", "network_id": "none"},
        "pools": [pool],
    }
    (folder / "c.yaml").write_text(yaml.safe_dump(document))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rate", type=int, default=200, help="webhooks per second")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--burst", type=int, default=1000, help="webhooks within one second")
    parser.add_argument("--creates", type=int, default=40, help="jobs whose create call is timed")
    return parser.parse_args()


if __name__ == "__main__":
    main()
