"""The command line on a machine whose driver tells of a busy or slowed-down GPU: exit codes and words."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# Stands for nvidia-ml-py and its driver; STATE holds what the GPU is like.
PYNVML = """
import json, os
from types import SimpleNamespace

STATE = json.loads(os.environ["STATE"])


class NVMLError(Exception):
    pass


def nvmlInit():
    pass


def nvmlDeviceGetHandleByIndex(index):
    return index


def nvmlDeviceGetMemoryInfo(handle):
    return SimpleNamespace(total=24 * 2**30, used=STATE.get("used_mib", 0) * 2**20)


def nvmlDeviceGetComputeRunningProcesses(handle):
    return [SimpleNamespace(pid=pid, usedGpuMemory=2**30) for pid in STATE.get("processes", [])]


def nvmlDeviceGetGraphicsRunningProcesses(handle):
    return []


def nvmlDeviceGetCurrentClocksEventReasons(handle):
    return STATE.get("events", 0)


def __getattr__(name):
    if not name.startswith(("nvmlDevice", "nvmlSystem")):
        raise AttributeError(name)

    def refuse(*_):
        raise NVMLError(name)

    return refuse
"""
CONFIGURATION = """
[[workload]]
name = "tiny"
engine = "callable"
output_tokens = 2
passes = 2
warmup_most = 2
batch = 32
callable = {call = "bench.py:generate"}
"""
CODE = """
import time

def generate(prompts, n):
    for _ in range(n):
        time.sleep(0.1)
        yield [1 for _ in prompts]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "driver").mkdir()
    files = {"driver/pynvml.py": PYNVML, "perfgate.toml": CONFIGURATION, "bench.py": CODE}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def run(folder: Path, state: dict[str, object]) -> subprocess.CompletedProcess[str]:
    found = [str(folder / "driver"), str(Path(__file__).parents[3] / "components" / "perfgate")]
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(found),
        "STATE": json.dumps(state),
        "TMPDIR": str(folder),
    }
    env.pop("CUDA_VISIBLE_DEVICES", None)
    argv = [sys.executable, "-m", "shadow_perfgate", "run", "-n", "1"]
    return subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_a_busy_gpu_is_an_unfit_machine_and_names_the_process(project: Path) -> None:
    done = run(project, {"processes": [os.getpid()]})
    assert done.returncode == 3
    assert f"GPU is busy: process {os.getpid()}" in done.stderr
    assert "holds 1024 MiB; stop it, or let the runner take one job at a time" in done.stderr


def test_a_slowed_down_gpu_discards_the_run(project: Path) -> None:
    done = run(project, {"events": 0x48})
    session = json.loads((project / "perfgate-sessions" / "tiny.json").read_text(encoding="utf-8"))
    assert "0 of 1 runs counted" in done.stdout
    assert session["runs"][0]["discarded"] == "throttled: HwSlowdown, HwThermalSlowdown"


def test_a_power_cap_is_told_and_counts(project: Path) -> None:
    done = run(project, {"events": 0x4, "used_mib": 300})
    session = json.loads((project / "perfgate-sessions" / "tiny.json").read_text(encoding="utf-8"))
    assert (done.returncode, "1 of 1 runs counted" in done.stdout) == (0, True)
    (only,) = session["runs"]
    assert only["conditions"]["share_SwPowerCap"] == 1
    # Idle memory is taken off, and a process that the driver does not list is unknown instead of 0.
    assert only["metrics"]["peak_vram_device"] == 0
    assert "peak_vram_process" not in only["metrics"]
    assert session["fingerprint"]["keys"]["driver"] == "unknown"
