"""Real gate runs, one per verdict: a repository with a base and a faulty commit, and the command line on it.

Usage: verdicts.py OUT_FOLDER SECONDS SCRATCH_FOLDER
Prints and keeps each run's exit code, time and terminal report.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any, cast

HERE = Path(__file__).parent
INJECTED = {
    "slow3": ("slow", 0.03),
    "slow5": ("slow", 0.05),
    "slow75": ("slow", 0.075),
    "slow10": ("slow", 0.10),
    "vram1": ("fat", 8),
    "vram5": ("fat", 42),
    "leaks": ("leak", 2),
    "wrongs": ("wrong", 0),
}
GATES = (
    ("+7.5 %, +10 % and VRAM +5 %", ("slow75", "slow10", "vram5")),
    ("+3 % and VRAM +1 %", ("slow3", "vram1")),
    ("leak", ("leaks",)),
    ("wrong answer", ("wrongs",)),
)
LAST = ("+5 %", ("slow5",))
HEAD = """
project = "verdicts"
[gate]
looks = [6]
noisy_looks = [6]
stored_runs = 0
[metrics.peak_vram_allocated]
limit = "1%"
floor = "8 MiB"
[metrics."leaks/itl_median"]
role = "observe"
[metrics."leaks/ttft_median"]
role = "observe"
[metrics."leaks/output_tps"]
role = "observe"
"""
WORKLOAD = """
[[workload]]
name = "{name}"
engine = "transformers"
batch = 32
input_tokens = 64
output_tokens = {tokens}
seed = 7
quiet = "{quiet}"
gpu_time = false
leak_batches = {leak}
preload = {preload}
[workload.transformers]
load = "variants.py:{name}"
tokenizer = "bytes"
"""
PRELOAD = (
    "torch",
    "torch._dynamo",
    "transformers.models.llama.modeling_llama",
    "transformers.models.auto.modeling_auto",
)
HOLDER = """
import sys, torch
held = torch.ones(2**30, device="cuda"); torch.cuda.synchronize()
print("held", flush=True); sys.stdin.readline()
"""


def configuration() -> str:
    """Return perfgate.toml: one workload per fault."""
    tables = [HEAD]
    for name in INJECTED:
        small = {"tokens": 4, "quiet": "eager", "leak": 60}
        usual = {"tokens": 32, "quiet": "graphs", "leak": 0}
        shape = small if name == "leaks" else usual
        tables.append(WORKLOAD.format(name=name, preload=json.dumps(PRELOAD), **shape))
    return "".join(tables)


def repository(folder: Path) -> str:
    """Make the repository and return its base commit."""
    folder.mkdir()
    shutil.copy(HERE / "variants.py", folder)
    (folder / "perfgate.toml").write_text(configuration(), encoding="utf-8")
    (folder / ".gitignore").write_text("__pycache__/\nperfgate-report/\n", encoding="utf-8")
    (folder / "injected.json").write_text("{}\n", encoding="utf-8")
    who = ("-c", "user.name=verdicts", "-c", "user.email=verdicts@example.invalid")
    for argv in (("init", "-q", "-b", "main"), ("add", "."), (*who, "commit", "-q", "-m", "Base")):
        git(folder, *argv)
    git(folder, "checkout", "-q", "-b", "candidate")
    (folder / "injected.json").write_text(json.dumps(INJECTED) + "\n", encoding="utf-8")
    git(folder, *who, "commit", "-q", "-a", "-m", "Candidate")
    return git(folder, "rev-parse", "main")


def git(folder: Path, *arguments: str) -> str:
    """Run git in `folder` and return what it printed."""
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def gate(folder: Path, base: str, title: str, workloads: tuple[str, ...], out: Path) -> dict[str, Any]:
    """Run the gate on `workloads`, keep its reports and return how it ended."""
    name = "-".join(workloads)
    only = [part for workload in workloads for part in ("-w", workload)]
    argv = [sys.executable, "-m", "shadow_perfgate", "gate", "--base", base, "--no-record", *only]
    began = time.monotonic()
    done = subprocess.run(
        argv, cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "150"}
    )
    found = {
        "title": title,
        "workloads": workloads,
        "exit": done.returncode,
        "seconds": round(time.monotonic() - began, 1),
    }
    (out / f"{name}.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    for report in folder.glob("perfgate-report/*"):
        if report.suffix in {".json", ".md"} and report.is_file():
            (out / f"{name}-{report.name}").write_bytes(report.read_bytes())
    print(json.dumps(found), flush=True)
    print((done.stdout + done.stderr)[-1800:], flush=True)
    return found


def busy(folder: Path, base: str, out: Path) -> dict[str, Any]:
    """Run a gate while another process holds the GPU."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        cast("IO[str]", holder.stdout).readline()
        return gate(folder, base, "busy GPU", ("slow10",), out)
    finally:
        holder.communicate("\n")


def main() -> None:
    """Run the gates while there is time."""
    out, deadline = Path(sys.argv[1]), time.monotonic() + float(sys.argv[2])
    folder = Path(sys.argv[3])
    base = repository(folder)
    found: list[dict[str, Any]] = []
    for title, workloads in GATES:
        if time.monotonic() + 12 + 28 * len(workloads) < deadline:
            found.append(gate(folder, base, title, workloads, out))
    if time.monotonic() + 25 < deadline:
        (out / "busy").mkdir()
        found.append(busy(folder, base, out / "busy"))
    if time.monotonic() + 40 < deadline:
        found.append(gate(folder, base, *LAST, out))
    (out / "verdicts.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
