"""The guard tells what a GPU is, whether it is free and whether it slowed down; unknown is never zero."""

import re
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

from shadow_perfgate.errors import EnvironmentFaultError
from shadow_perfgate.guard import dirty, fingerprint, throttle
from shadow_perfgate.guard.nvml import Gpu, NvmlMissingError, open_gpu
from shadow_perfgate.measure.sampler import Sampler, split, take


def test_the_fingerprint_names_the_class_and_no_serial(nvml: Any) -> None:
    assert fingerprint.of_gpu(open_gpu(nvml=nvml)) == {
        "gpu": "NVIDIA H200",
        "memory_mib": "143771",
        "mig": "off",
        "power_limit_w": "700",
        "ecc": "on",
        "sm_clock_max_mhz": "1980",
        "sm_clock_set_mhz": "1830",
        "compute_mode": "0",
        "driver": "580.159.04",
        "cuda_driver": "13.0",
    }


def test_what_a_driver_refuses_is_unknown(nvml: Any) -> None:
    nvml.refused = {"PowerManagementLimit", "EccMode"}
    found = fingerprint.of_gpu(open_gpu(nvml=nvml))
    assert (found["power_limit_w"], found["ecc"]) == ("unknown", "unknown")


def test_a_machine_without_gpu_says_that_vram_is_not_measured() -> None:
    found = fingerprint.read(None, {"torch": "2.11.0"}).keys
    assert (found["gpu"], found["vram_measured"], found["torch"]) == ("none", "no", "2.11.0")


def test_memory_leaves_out_the_drivers_reserve(nvml: Any) -> None:
    nvml.used_mib = 774.0
    memory = open_gpu(nvml=nvml).memory()
    assert memory is not None
    assert (memory.used, memory.reserved) == (774.0, 615.0)
    nvml.refused = {"Memory_v2"}
    older = open_gpu(nvml=nvml).memory()
    assert older is not None
    assert (older.used, older.reserved) == (1389.0, None)
    nvml.refused = {"Memory_v1", "Memory_v2"}
    assert open_gpu(nvml=nvml).memory() is None


def test_a_process_that_computes_and_draws_counts_once(nvml: Any) -> None:
    nvml.compute, nvml.graphics = {7: 500.0}, {7: 500.0, 9: None}
    assert open_gpu(nvml=nvml).processes() == {7: 500.0, 9: None}


def test_hidden_processes_are_unknown_and_not_none(nvml: Any) -> None:
    nvml.refused = {"ComputeRunningProcesses", "GraphicsRunningProcesses"}
    assert open_gpu(nvml=nvml).processes() is None


def test_a_mig_slice_asks_its_parent_for_clocks(nvml: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-abc,MIG-def")
    gpu = open_gpu(nvml=nvml)
    assert (gpu.handle, gpu.whole, gpu.is_mig) == ("MIG-abc", "parent of MIG-abc", True)


def test_the_device_given_wins_over_the_environment(nvml: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    assert open_gpu(nvml=nvml).handle == "gpu3"
    assert open_gpu("1", nvml).handle == "gpu1"


def test_a_gpu_that_is_not_there_is_named(nvml: Any) -> None:
    nvml.refused = {"HandleByIndex"}
    with pytest.raises(NvmlMissingError, match="GPU '7'"):
        open_gpu("7", nvml)


def test_a_free_gpu_has_no_faults(nvml: Any) -> None:
    assert dirty.faults(open_gpu(nvml=nvml)) == ()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"compute": {4194304: 774.0}}, "process 4194304 .in another container. holds 774 MiB"),
        ({"compute": {4194304: None}}, "holds unknown MiB"),
        ({"used_mib": 2000.0}, "2000 MiB used by no visible process, expected at most 1024"),
        ({"temperature": 91}, "91 °C before the start, limit 85"),
    ],
)
def test_an_unfit_gpu_says_why(nvml: Any, change: dict[str, object], fault: str) -> None:
    for name, value in change.items():
        setattr(nvml, name, value)
    (found,) = dirty.faults(open_gpu(nvml=nvml))
    assert re.search(fault, found)


def test_memory_just_above_the_known_idle_level_counts(nvml: Any) -> None:
    nvml.used_mib = 100.0
    assert dirty.faults(open_gpu(nvml=nvml), idle_mib=40.0) == ()
    assert dirty.faults(open_gpu(nvml=nvml), idle_mib=20.0) != ()


def test_waiting_ends_as_soon_as_the_gpu_is_free(nvml: Any) -> None:
    nvml.compute = {4194304: 774.0}
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            nvml.compute = {}

    assert dirty.wait_until_free(open_gpu(nvml=nvml), 10, pause=pause) == ()
    assert len(pauses) == 3


def test_waiting_gives_up(nvml: Any) -> None:
    nvml.compute = {4194304: 774.0}
    assert dirty.wait_until_free(open_gpu(nvml=nvml), 1, pause=lambda _: None)


def test_two_measurements_on_one_gpu_are_refused(
    nvml: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gpu = open_gpu(nvml=nvml)
    with (
        dirty.exclusive(gpu),
        pytest.raises(EnvironmentFaultError, match="GPU-1234: another measurement"),
        dirty.exclusive(gpu),
    ):
        pass
    with dirty.exclusive(gpu):
        pass


HW, POWER_CAP = 0x8, 0x4


@pytest.mark.parametrize(
    ("events", "clocks", "why"),
    [
        ([0, 0, 0], [1980.0], ""),
        ([0, HW, 0, HW], [1980.0], ""),
        ([0, HW, HW], [1980.0], "throttled: HwSlowdown"),
        ([0x20, 0x60, 0x40], [1980.0], "throttled: SwThermalSlowdown, HwThermalSlowdown"),
        ([POWER_CAP] * 4, [1200.0], ""),
        ([0] * 4, [1200.0], "clocked down: SM clock 1200 MHz, under 75% of 1980 MHz"),
        ([0] * 4, [1500.0], ""),
        ([], [], ""),
    ],
)
def test_a_run_on_a_slowed_down_gpu_is_discarded(events: list[int], clocks: list[float], why: str) -> None:
    assert throttle.discard(events, clocks, 1980.0).startswith(why)
    assert bool(throttle.discard(events, clocks, 1980.0)) == bool(why)


def test_shares_of_reasons_are_told() -> None:
    assert throttle.shares([0, POWER_CAP, POWER_CAP | HW, 0]) == {"HwSlowdown": 0.25, "SwPowerCap": 0.5}
    assert throttle.shares([]) == {}


def test_own_and_foreign_processes_are_told_apart() -> None:
    assert split({5: 100.0, 6: 50.0, 9: 10.0}, (5, 6)) == (150.0, (9,))
    assert split({5: None}, (5,)) == (None, ())
    assert split({99: 100.0}, (5,)) == (None, ())
    assert split(None, (5,)) == (None, ())


def test_a_sample_keeps_unknown_apart_from_zero(nvml: Any) -> None:
    nvml.used_mib, nvml.refused = 782.8125, {"PowerUsage", "TotalEnergyConsumption"}
    sample = take(Gpu(nvml, "gpu0"), (1,))
    assert (sample.device_mib, sample.power_w, sample.energy_j) == (782.8125, None, None)
    assert (sample.clock_mhz, sample.events, sample.process_mib) == (1980.0, 0, None)


def test_samples_tell_the_groups_processes_from_foreign_ones(nvml: Any) -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as child:
        nvml.compute = {child.pid: 500.0}
        with Sampler(Gpu(nvml, "gpu0"), child.pid) as sampler:
            while len(sampler.samples) < 12:
                threading.Event().wait(0.01)
            nvml.compute = {child.pid: 500.0, 4194304: 10.0}
            seen = len(sampler.samples)
            while len(sampler.samples) < seen + 2:
                threading.Event().wait(0.01)
        child.kill()
    assert sampler.samples[0].process_mib == 500.0
    assert sampler.samples[-1].foreign == (4194304,)
    assert not any(sample.foreign for sample in sampler.samples[:seen])
