"""Programs on the pages that are whole run as they stand there."""

import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

from shadow_gpu_runners.testing import record

ROOT = Path(__file__).parents[3]
README = ROOT / "components" / "gpu-runners" / "README.md"
HOW_TO = ROOT / "docs" / "how-to"
PREVIEW = ROOT / "tests" / "unit" / "preview" / "samples" / "create.json"


def blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def run(folder: Path, *words: str) -> str:
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_tests_of_a_users_program_pass(tmp_path: Path) -> None:
    (program,) = blocks(HOW_TO / "test-your-program.md", "python")
    (tmp_path / "test_program.py").write_text(program, encoding="utf-8")
    plain = ("-p", "no:cacheprovider", "-p", "no:randomly", "-c", "/dev/null", "--rootdir", str(tmp_path))
    assert "3 passed" in run(tmp_path, "-m", "pytest", "-q", *plain, "test_program.py")


def test_an_estimate_with_own_prices_is_printed(tmp_path: Path) -> None:
    (program,), (book,) = blocks(HOW_TO / "prices.md", "python"), blocks(HOW_TO / "prices.md", "yaml")
    shutil.copy(PREVIEW, tmp_path / "preview.json")
    (tmp_path / "prices.yaml").write_text(book, encoding="utf-8")
    told = run(tmp_path, "-c", program)
    assert "-> " in told
    assert "EUR a month; spot saves" in told


def test_the_packages_own_program_declares_two_machines(tmp_path: Path) -> None:
    (program,) = blocks(README, "python")
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    found = record(
        lambda: runpy.run_path(str(tmp_path / "program.py")) and None,
        answer=lambda call: {"id": "1", "name": call.args.get("name", "")},
    )
    assert [server.name for server in found.of_type("Instance")] == ["gpu-01", "gpu-02"]
