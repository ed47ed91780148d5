"""A stand-in of NVIDIA's library that answers like an H200, and plans with tiny prompts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shadow_perfgate.errors import Faults
from shadow_perfgate.measure.plan import Plan
from shadow_perfgate.measure.plan_input import plan

MIB = 2**20


class NotTold(Exception):  # noqa: N818 - stands for NVMLError
    """The driver refuses the question."""


@dataclass
class FakeNvml:
    """Answers from plain attributes; `refused` names the calls that a driver or MIG slice does not answer."""

    used_mib: float = 0.0
    reserved_mib: float = 615.0
    compute: dict[int, float | None] = field(default_factory=dict)
    graphics: dict[int, float | None] = field(default_factory=dict)
    events: int = 0
    clock: int = 1980
    temperature: int = 40
    refused: set[str] = field(default_factory=set)
    NVMLError = NotTold
    nvmlMemory_v2 = 2  # noqa: N815 - NVML's own name

    def _answer(self, name: str, value: object) -> Any:
        if name in self.refused:
            raise NotTold(name)
        return value

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:  # noqa: N802
        return self._answer("HandleByIndex", f"gpu{index}")

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:  # noqa: N802
        return self._answer("HandleByUUID", uuid)

    def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, handle: str) -> str:  # noqa: N802
        return f"parent of {handle}"

    def nvmlDeviceGetMemoryInfo(self, handle: str, version: int = 1) -> Any:  # noqa: N802
        del handle
        self._answer(f"Memory_v{version}", None)
        total, used, reserved = 143771 * MIB, self.used_mib * MIB, self.reserved_mib * MIB
        told = used if version == 2 else used + reserved
        return SimpleNamespace(total=total, used=told, free=total - used - reserved, reserved=reserved)

    def nvmlDeviceGetComputeRunningProcesses(self, handle: str) -> Any:  # noqa: N802
        return self._answer("ComputeRunningProcesses", self._listed(handle, self.compute))

    def nvmlDeviceGetGraphicsRunningProcesses(self, handle: str) -> Any:  # noqa: N802
        return self._answer("GraphicsRunningProcesses", self._listed(handle, self.graphics))

    @staticmethod
    def _listed(handle: str, known: dict[int, float | None]) -> list[Any]:
        del handle
        return [
            SimpleNamespace(pid=pid, usedGpuMemory=None if used is None else int(used * MIB))
            for pid, used in known.items()
        ]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        answers: dict[str, object] = {
            "Name": "NVIDIA H200",
            "UUID": "GPU-1234",
            "PowerManagementLimit": 700_000,
            "PowerUsage": 123_000,
            "MaxClockInfo": 1980,
            "ApplicationsClock": 1830,
            "ClockInfo": self.clock,
            "Temperature": self.temperature,
            "TotalEnergyConsumption": 5_103_315,
            "CurrentClocksEventReasons": self.events,
            "MigMode": [0, 0],
            "EccMode": [1, 1],
            "ComputeMode": 0,
        }
        system = {"nvmlSystemGetDriverVersion": "580.159.04", "nvmlSystemGetCudaDriverVersion": 13000}
        if name in system:
            return lambda: self._answer(name, system[name])
        key = name.removeprefix("nvmlDeviceGet")
        if key not in answers:
            raise AttributeError(name)
        return lambda *_: self._answer(key, answers[key])


@pytest.fixture
def nvml() -> FakeNvml:
    return FakeNvml()


@pytest.fixture
def planned(tmp_path: Path) -> Callable[..., Plan]:
    """Make a plan from a table of the configuration; the prompts are four short ones."""
    lines = "".join(f'{{"prompt": "prompt number {index}"}}\n' for index in range(4))
    (tmp_path / "few.jsonl").write_text(lines, encoding="utf-8")

    def make(**table: Any) -> Plan:
        faults = Faults("perfgate.toml")
        given = {"name": "tiny", "prompts": "few.jsonl", "output_tokens": 3, "passes": 2, "batch": 2}
        found = plan({**given, "warmup_most": 4, **table}, faults, "workload[0]", tmp_path)
        faults.raise_if_any()
        assert found is not None
        return found

    return make
