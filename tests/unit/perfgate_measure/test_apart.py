"""Both arms have to run their own code: an environment that they share shows one of them the other's."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shadow_perfgate.errors import MeasureError
from shadow_perfgate.measure.apart import ensure_apart, python_of
from shadow_perfgate.measure.local import LocalMeasurer
from shadow_perfgate.measure.plan import Plan

Planned = Callable[..., Plan]
FLAT, SRC = "library.py", "src/library.py"


@pytest.fixture
def arms(tmp_path: Path) -> Callable[[str], tuple[Path, Path]]:
    def make(module: str) -> tuple[Path, Path]:
        for arm in ("base", "head"):
            (tmp_path / arm / module).parent.mkdir(parents=True)
            (tmp_path / arm / module).write_text("", encoding="utf-8")
        return tmp_path / "base", tmp_path / "head"

    return make


def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Path, *, record: bool) -> None:
    """Do what `pip install` of `source` does to an environment: editable, or by a copy with its record."""
    site = tmp_path / "site"
    site.mkdir()
    if not record:
        monkeypatch.setenv("PYTHONPATH", str(source / "src"), prepend=os.pathsep)
        return
    (site / "library.py").write_text("", encoding="utf-8")
    (site / "library-1.dist-info").mkdir()
    (site / "library-1.dist-info/METADATA").write_text("Name: library\nVersion: 1\n", encoding="utf-8")
    (site / "library-1.dist-info/RECORD").write_text("library.py,,\n", encoding="utf-8")
    told = json.dumps({"dir_info": {}, "url": source.as_uri()})
    (site / "library-1.dist-info/direct_url.json").write_text(told, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(site), prepend=os.pathsep)


@pytest.mark.parametrize("record", [False, True], ids=["editable", "copied"])
@pytest.mark.parametrize("last", ["base", "head"])
def test_an_environment_that_shows_one_arm_the_others_code_is_refused(
    planned: Planned,
    arms: Callable[[str], tuple[Path, Path]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    last: str,
    record: bool,
) -> None:
    base, head = arms(SRC)
    for arm in (base, head):
        (arm / "src/__main__.py").write_text("", encoding="utf-8")
    installed(tmp_path, monkeypatch, tmp_path / last, record=record)
    plan = planned(engine="command", command={"argv": [sys.executable, "bench.py"]})
    said = {"base": "candidate imported .* of the base's", "head": "base imported .* of the candidate's"}
    with pytest.raises(MeasureError, match=said[last]):
        ensure_apart(plan, base, head)


def test_a_package_at_the_top_is_each_arms_own(
    planned: Planned,
    arms: Callable[[str], tuple[Path, Path]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    base, head = arms(FLAT)
    (head / "new_module.py").write_text("", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(head), prepend=os.pathsep)
    installed(tmp_path, monkeypatch, head, record=True)
    plan = planned(engine="command", command={"argv": ["env", "A=b", sys.executable, "bench.py"]})
    ensure_apart(plan, base, head)


def test_a_candidate_that_loads_modules_of_base_is_refused(
    planned: Planned, arms: Callable[[str], tuple[Path, Path]]
) -> None:
    base, head = arms(SRC)
    code = f"import sys\nsys.path.insert(0, {str(base / 'src')!r})\nimport library\n"
    code += "def generate(prompts, output_tokens):\n    return ['a'] * len(prompts)\n"
    for arm in (base, head):
        (arm / "bench.py").write_text(code, encoding="utf-8")
    measurer = LocalMeasurer(planned(engine="callable", callable={"call": "bench.py:generate"}), head, base)
    with pytest.raises(MeasureError, match=r"candidate imported .*base/src of the base's checkout"):
        measurer.pairs(0, 1, lambda *_: None)


def test_the_python_of_a_command_is_found(planned: Planned, tmp_path: Path) -> None:
    script = tmp_path / "bench"
    script.write_text(f"#!{sys.executable}\n", encoding="utf-8")

    def found(*argv: str) -> str:
        return python_of(planned(engine="command", command={"argv": list(argv)}), tmp_path)

    assert found("./bench") == sys.executable
    assert found("taskset", "-c", "0", "bin/python3.11", "x.py") == str(tmp_path / "bin/python3.11")
    assert found("cargo", "bench") == ""
