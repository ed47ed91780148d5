"""GPUs by flavor name, and the program that shows them."""

import json
from pathlib import Path

import pytest

from localcloud.guests import gpus
from localcloud.standins import hardware, nvidia_smi
from localcloud.standins.hardware import Gpus


@pytest.mark.parametrize(
    ("flavor", "model", "memory", "count"),
    [
        ("edge-c4m16-gpu-2000-1", "NVIDIA RTX 2000 Ada Generation", 16380, 1),
        ("edge-preemptible-c8m32-gpu-a4500-2", "NVIDIA RTX A4500", 20470, 2),
        ("boost-c64m256-gpu-a4500-8", "NVIDIA RTX A4500", 20470, 8),
        ("boost-c8m12-gpu-1080-1", "NVIDIA GeForce GTX 1080", 8192, 1),
        ("new-c8m12-gpu-9999-3", "NVIDIA GPU", 16384, 3),
        ("micro-c1m2", "", 0, 0),
    ],
)
def test_flavors(flavor: str, model: str, memory: int, count: int) -> None:
    assert gpus.of_flavor(flavor) == {"model": model, "memory_mib": memory, "count": count}


@pytest.mark.parametrize("name", ["", "missing", "late:50", "late:0.5", "one-of-two"])
def test_known_faults(name: str) -> None:
    assert gpus.check_fault(name) == name


@pytest.mark.parametrize("name", ["late", "late:", "late:x", "hang:1", "melted"])
def test_unknown_faults(name: str) -> None:
    with pytest.raises(ValueError, match="expected one of missing, exit9"):
        gpus.check_fault(name)


def test_half_written_files_count_as_no_fault(tmp_path: Path) -> None:
    (tmp_path / "gpu.json").write_text(json.dumps(gpus.of_flavor("edge-c8m32-gpu-a4500-2")))
    (tmp_path / "faults.json").write_text('{"gpu": "on')
    assert hardware.read(tmp_path) == Gpus("NVIDIA RTX A4500", 20470, 2, "")


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], found: Gpus, *words: str
) -> tuple[int, str]:
    monkeypatch.setattr(hardware, "read", lambda: found)
    return nvidia_smi.main("nvidia-smi", words), capsys.readouterr().out


TWO = Gpus("NVIDIA RTX A4500", 20470, 2, "")
CSV = "--query-gpu=index,memory.total,utilization.gpu"


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("csv", "index, memory.total [MiB], utilization.gpu [%]\n0, 20470 MiB, 0 %\n1, 20470 MiB, 0 %\n"),
        ("csv,nounits", "index, memory.total [MiB], utilization.gpu [%]\n0, 20470, 0\n1, 20470, 0\n"),
        ("csv,noheader", "0, 20470 MiB, 0 %\n1, 20470 MiB, 0 %\n"),
        ("csv,noheader,nounits", "0, 20470, 0\n1, 20470, 0\n"),
    ],
)
def test_csv_forms(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], form: str, expected: str
) -> None:
    assert run(monkeypatch, capsys, TWO, CSV, f"--format={form}") == (0, expected)


def test_the_table_is_as_wide_in_every_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    long_name = Gpus("NVIDIA RTX 2000 Ada Generation", 16380, 1, "err")
    code, text = run(monkeypatch, capsys, long_name)
    assert (code, {len(line) for line in text.splitlines() if line}) == (0, {91})
    assert "ERR!" in text
