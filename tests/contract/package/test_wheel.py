"""The built wheel: what it holds, and that it works in an environment of its own."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "components" / "gpu-runners"

# A bill or a catalog needs no SDK, and no component needs a cloud's or a forge's client library.
PROGRAM = """
import sys
from shadow_gpu_runners.cost import estimate_preview
estimate_preview("{}")
assert "pulumi" not in sys.modules
import shadow_gpu_runners
for name in shadow_gpu_runners.__all__:
    getattr(shadow_gpu_runners, name)
for module in ("openstack", "gitlab", "githubkit", "boto3"):
    assert module not in sys.modules, module
import importlib.metadata, pathlib
folder = pathlib.Path(shadow_gpu_runners.__file__).parent
assert (folder / "py.typed").is_file()
print(importlib.metadata.version("shadow-gpu-runners"), folder)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(FOLDER)],
        check=True,
        capture_output=True,
    )
    (found,) = out.glob("*.whl")
    return found


def test_it_holds_the_package_with_its_data_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {name for name in names if name.startswith("shadow_gpu_runners/")}
    tracked = {
        str(path.relative_to(FOLDER))
        for path in (FOLDER / "shadow_gpu_runners").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert package == tracked
    assert "shadow_gpu_runners/py.typed" in package
    assert any(name.startswith("shadow_gpu_runners/boot/") and name.endswith(".sh") for name in package)
    assert {name.partition("/")[0] for name in names - package} == {"shadow_gpu_runners-0.1.0.dist-info"}


def test_it_tells_its_licence_entry_point_and_dependencies(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    folder = "shadow_gpu_runners-0.1.0.dist-info"
    metadata = archive.read(f"{folder}/METADATA").decode()
    needed = {
        line.split()[1].partition(">")[0] for line in metadata.splitlines() if line[:13] == "Requires-Dist"
    }
    assert "License-Expression: Apache-2.0" in metadata
    assert {"pulumi", "pulumi-openstack"} <= {name.partition("<")[0].rstrip(",") for name in needed}
    assert not needed & {"openstacksdk", "python-gitlab"}
    assert "pulumi-resource-shadow-gpu-runners" in archive.read(f"{folder}/entry_points.txt").decode()


@pytest.mark.slow
def test_it_works_in_a_clean_environment(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run(["uv", "pip", "install", "-q", "--python", str(python), str(wheel)], check=True)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(python), "-W", "error", "-W", "ignore::DeprecationWarning", "-c", PROGRAM],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("0.1.0 " + str(tmp_path))
