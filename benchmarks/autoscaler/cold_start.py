"""Times a new process: import and first event, as a function on AWS meets them.

    .venv/bin/python benchmarks/autoscaler/cold_start.py --runs 10

Each run is a process of its own, timed from within, without the start of Python itself.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import webhooks

COMMON = """
import time; start, cpu = time.perf_counter(), time.process_time()
import base64, hashlib, hmac, sys
request = webhooks_request
head, _, body = request.partition(b"\\r\\n\\r\\n")
headers = dict(line.split(": ", 1) for line in head.decode().split("\\r\\n")[1:])
event = {"rawPath": "/webhook/github", "headers": headers, "isBase64Encoded": True,
         "body": base64.b64encode(body).decode()}
"""
PROBES = {
    "webhook function, first webhook": """
from shadow_autoscaler.edge.functions import setting, webhook
class Queue:
    def put(self, delivery): self.kept = delivery
setting.queue = Queue
assert webhook.handler(event, None)["statusCode"] == 202
""",
    "the same with boto3's import and clients": """
from shadow_autoscaler.edge.functions import setting, webhook
import boto3
boto3.client("sqs", region_name="eu-west-3"); boto3.client("secretsmanager", region_name="eu-west-3")
class Queue:
    def put(self, delivery): self.kept = delivery
setting.queue = Queue
assert webhook.handler(event, None)["statusCode"] == 202
""",
    "core and SQLite store, first event decided and stored": """
import os
from pathlib import Path
from shadow_autoscaler.adapters import github_events
from shadow_autoscaler.edge.functions import setting
from shadow_autoscaler.edge import wiring
from shadow_autoscaler.runtime.engine import Engine
base = wiring.Base.of(setting.config(), setting.file().parent)
engine = Engine(base.store, setting.config().to_core(), wiring.decide, time.time)
assert base.store.lease("cold", 60, time.time())
engine.activate()
(seen,) = github_events.events("workflow_job", body)
assert engine.handle(seen).intents
""",
    "command line, --help": """
from shadow_autoscaler.edge.cli import main
import contextlib, io
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit): main(["--help"])
""",
}
END = "\nprint(1000 * (time.perf_counter() - start), 1000 * (time.process_time() - cpu))\n"


def main() -> None:
    """Run every probe in processes of its own and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    print("| cold start | fastest ms | median ms | least CPU ms |\n|---|---|---|---|")
    for name, probe in PROBES.items():
        wall, cpu = zip(*(_once(probe) for _ in range(runs)), strict=True)
        print(f"| {name} | {min(wall):.0f} | {statistics.median(wall):.0f} | {min(cpu):.0f} |")


def _once(probe: str) -> tuple[float, float]:
    request = webhooks._request(0, 1, "shadow-gpu")  # noqa: SLF001 -- the same body as in the other benchmark
    code = COMMON.replace("webhooks_request", repr(request)) + probe + END
    with tempfile.TemporaryDirectory() as folder:
        webhooks._write(Path(folder), 0)  # noqa: SLF001 -- same
        environment = os.environ | {"SHADOW_AUTOSCALER_CONFIG": f"{folder}/c.yaml"}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
        )
    wall, cpu = done.stdout.split()[-2:]
    return float(wall), float(cpu)


if __name__ == "__main__":
    main()
