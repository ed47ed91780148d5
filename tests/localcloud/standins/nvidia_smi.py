"""`nvidia-smi`: the table, `-L` and `--query-gpu` for the guest's GPUs, with the faults of the field."""

import signal
import sys
from collections.abc import Callable, Sequence

from localcloud.standins import hardware
from localcloud.standins.hardware import Gpus

DRIVER = "550.127.05"
CUDA = "12.4"
_NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n"
)
_MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 560.35\n"
_BROKEN = "[Unknown Error]"
_DYNAMIC = frozenset(
    {"memory.used", "memory.free", "temperature.gpu", "power.draw", "utilization.gpu", "pstate", "fan.speed"}
)


def main(program: str, arguments: Sequence[str]) -> int:
    """Answer as the real program does; exit codes: 9 no driver, 18 driver and library differ, 255 lost."""
    gpus = hardware.read()
    failed = _fault(program, gpus)
    if failed is not None:
        return failed
    if gpus.visible == 0:
        sys.stdout.write("No devices were found\n")
        return 6
    query = next((a.partition("=")[2] for a in arguments if a.startswith("--query-gpu=")), None)
    if query is not None:
        return _query(gpus, query.split(","), arguments)
    known = {"-L": _listing, "--list-gpus": _listing}
    sys.stdout.write(known.get(arguments[0] if arguments else "", _table)(gpus))
    return 0


def _fault(program: str, gpus: Gpus) -> int | None:
    name = gpus.fault.partition(":")[0]
    if name == "hang":
        signal.pause()
    if name == "missing":
        sys.stderr.write(f"{program}: command not found\n")
        return 127
    if name == "exit9" or (name == "late" and hardware.still_late(gpus.fault)):
        sys.stdout.write(_NO_DRIVER)
        return 9
    if name == "driver-mismatch":
        sys.stdout.write(_MISMATCH)
        return 18
    if name == "daemon-reload" and hardware.lost_by_reload():
        sys.stdout.write("Failed to initialize NVML: Unknown Error\n")
        return 255
    return None


def _uuid(index: int) -> str:
    return f"GPU-{index:08x}-5a4d-4c1e-9f00-{index:012x}"


def _listing(gpus: Gpus) -> str:
    return "".join(f"GPU {i}: {gpus.model} (UUID: {_uuid(i)})\n" for i in range(gpus.visible))


def _field(gpus: Gpus, name: str, index: int) -> tuple[str, str]:
    """Value and unit of one queried field."""
    if gpus.fault == "err" and name in _DYNAMIC:
        return _BROKEN, ""
    known: dict[str, tuple[str, str]] = {
        "index": (str(index), ""),
        "count": (str(gpus.visible), ""),
        "name": (gpus.model, ""),
        "gpu_name": (gpus.model, ""),
        "uuid": (_uuid(index), ""),
        "gpu_uuid": (_uuid(index), ""),
        "driver_version": (DRIVER, ""),
        "memory.total": (str(gpus.memory_mib), " MiB"),
        "memory.used": ("2", " MiB"),
        "memory.free": (str(gpus.memory_mib - 2), " MiB"),
        "temperature.gpu": ("31", ""),
        "power.draw": ("8.21", " W"),
        "utilization.gpu": ("0", " %"),
        "fan.speed": ("30", " %"),
        "pstate": ("P8", ""),
        "compute_cap": ("8.6", ""),
        "pci.bus_id": (f"00000000:{index + 5:02X}:00.0", ""),
        "compute_mode": ("Default", ""),
        "ecc.errors.uncorrected.volatile.total": ("0", ""),
    }
    return known.get(name, ("", ""))


def _query(gpus: Gpus, names: Sequence[str], arguments: Sequence[str]) -> int:
    names = [name.strip() for name in names]
    unknown = [name for name in names if _field(gpus, name, 0) == ("", "")]
    if unknown:
        sys.stdout.write(f'Field "{unknown[0]}" is not a valid field to query.\n\n')
        return 2
    style = next((a.partition("=")[2] for a in arguments if a.startswith("--format=")), "").split(",")
    if "csv" not in style:
        sys.stdout.write("\"--format=\" switch is missing. Please run 'nvidia-smi -h' for help.\n\n")
        return 2
    if "noheader" not in style:
        sys.stdout.write(", ".join(_header(gpus, name) for name in names) + "\n")
    show: Callable[[tuple[str, str]], str] = (lambda pair: pair[0]) if "nounits" in style else ("".join)
    for index in range(gpus.visible):
        sys.stdout.write(", ".join(show(_field(gpus, name, index)) for name in names) + "\n")
    return 0


def _header(gpus: Gpus, name: str) -> str:
    unit = _field(gpus, name, 0)[1].strip()
    return f"{name} [{unit}]" if unit else name


def _table(gpus: Gpus) -> str:
    bar = "+" + "-" * 41 + "+" + "-" * 24 + "+" + "-" * 22 + "+\n"
    rows = [
        "+" + "-" * 89 + "+\n",
        f"| {f'NVIDIA-SMI {DRIVER:<24}Driver Version: {DRIVER:<15}CUDA Version: {CUDA}':<87} |\n",
        bar,
        (
            f"| {'GPU  Name                 Persistence-M':<39} | {'Bus-Id          Disp.A':<22} | "
            f"{'Volatile Uncorr. ECC':<20} |\n"
        ),
        (
            f"| {'Fan  Temp   Perf          Pwr:Usage/Cap':<39} | {'Memory-Usage':>22} | "
            f"{'GPU-Util  Compute M.':<20} |\n"
        ),
        "|" + "=" * 41 + "+" + "=" * 24 + "+" + "=" * 22 + "|\n",
    ]
    for index in range(gpus.visible):
        rows += [*_table_row(gpus, index), bar]
    rows += ["\n", bar, f"| {'Processes:':<87} |\n", f"|  {'No running processes found':<86} |\n", bar]
    return "".join(rows)


def _table_row(gpus: Gpus, index: int) -> tuple[str, str]:
    broken = gpus.fault == "err"
    state = "ERR!  ERR!  ERR!           ERR! /  ERR!" if broken else "30%   31C    P8              8W /  200W"
    used = f"{'ERR!' if broken else '2MiB'} / {gpus.memory_mib}MiB"
    name = gpus.model if len(gpus.model) <= 26 else f"{gpus.model[:23]}..."
    load = "ERR!      Default" if broken else "0%      Default"
    return (
        f"|{index:>4}  {name:<26}{'Off':>7}  | {f'00000000:{index + 5:02X}:00.0 Off':<22} | {'Off':>20} |\n",
        f"| {state:<39} | {used:>22} | {load:>20} |\n",
    )
