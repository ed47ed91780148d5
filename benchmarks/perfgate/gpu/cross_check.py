"""Compares the gate's VRAM figures with `nvidia-smi` while a process of known size holds memory.

Usage: cross_check.py OUT.json
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, cast

from shadow_perfgate.guard import dirty, fingerprint
from shadow_perfgate.guard.nvml import Gpu, open_gpu
from shadow_perfgate.measure.sampler import take

HOLDER = """
import sys, torch
held = torch.empty(int(sys.argv[1]) * 2**20, dtype=torch.uint8, device="cuda"); torch.cuda.synchronize()
print(torch.cuda.memory_allocated() / 2**20, torch.cuda.memory_reserved() / 2**20, flush=True)
sys.stdin.readline()
"""


def smi(*fields: str) -> list[str]:
    """Return fields of `nvidia-smi --query-gpu`."""
    argv = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip().split(", ")


def compute_apps() -> list[str]:
    """Return `nvidia-smi`'s list of compute processes."""
    argv = ["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip().splitlines()


def held(gpu: Gpu, mib: int) -> dict[str, Any]:
    """Return both views while a process holds `mib` MiB."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(mib)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    allocator = [float(part) for part in cast("IO[str]", holder.stdout).readline().split()]
    sample = take(gpu, (holder.pid,))
    found = {
        "asked_mib": mib,
        "allocator_allocated_reserved": allocator,
        "gate_process_mib": sample.process_mib,
        "gate_device_mib": sample.device_mib,
        "smi_apps": compute_apps(),
        "smi_used_reserved": smi("memory.used", "memory.reserved"),
        "holder_pid": holder.pid,
        "gate_dirty": dirty.faults(gpu),
    }
    holder.communicate("\n")
    return found


def main() -> None:
    """Write what both say idle, busy with three sizes, and idle again."""
    gpu = open_gpu()
    idle = {
        "gate": str(gpu.memory()),
        "smi_used_reserved_total": smi("memory.used", "memory.reserved", "memory.total"),
    }
    fields = (
        "name",
        "driver_version",
        "power.limit",
        "clocks.max.sm",
        "ecc.mode.current",
        "mig.mode.current",
    )
    found = {
        "fingerprint": fingerprint.of_gpu(gpu),
        "smi": dict(zip(fields, smi(*fields), strict=True)),
        "idle": idle,
        "held": [held(gpu, mib) for mib in (256, 1024, 8192)],
        "after": {"free_again": dirty.wait_until_free(gpu, 10), "gate": str(gpu.memory())},
        "events": gpu.clock_events(),
        "power_w": [gpu.power_w(), smi("power.draw")],
        "energy_j": gpu.energy_j(),
    }
    Path(sys.argv[1]).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
