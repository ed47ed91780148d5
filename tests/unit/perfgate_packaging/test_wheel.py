"""The wheel holds everything that the program reads, and runs without the checkout."""

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

COMPONENT = Path(__file__).parents[3] / "components" / "perfgate"


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    argv = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(argv, cwd=COMPONENT, check=True, capture_output=True)
    (wheel,) = folder.glob("shadow_perfgate-*-py3-none-any.whl")
    with ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_every_file_of_the_package_is_in_it(unpacked: Path) -> None:
    package = COMPONENT / "shadow_perfgate"
    files = {p.relative_to(package) for p in package.rglob("*") if p.is_file() and p.suffix != ".pyc"}
    kept = {p.relative_to(unpacked / "shadow_perfgate") for p in (unpacked / "shadow_perfgate").rglob("*.*")}
    assert files <= kept
    (entry,) = unpacked.glob("*.dist-info/entry_points.txt")
    assert "shadow-perfgate = shadow_perfgate.cli:main" in entry.read_text(encoding="utf-8")


def test_it_writes_a_configuration_and_measures(unpacked: Path, tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(unpacked), "TMPDIR": str(tmp_path)}
    run = [sys.executable, "-m", "shadow_perfgate"]
    bench = tmp_path / "tests" / "benchmark_inference.py"
    bench.parent.mkdir()
    bench.write_text("print('{\"itl_median\": 1.5}')", encoding="utf-8")
    for argv in (
        ["init", "--engine", "command"],
        ["run", "-n", "5", "-o", "s"],
        ["compare", "s", "s", "--reports", "r"],
    ):
        ended = subprocess.run(
            [*run, *argv], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr
    code = "import shadow_perfgate; print(shadow_perfgate.__file__)"
    place = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert place.stdout.startswith(str(unpacked))
    assert "<svg" in (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
