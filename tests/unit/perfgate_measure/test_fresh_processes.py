"""Real fresh processes on the CPU: engines, both ways of starting, faults and leftovers."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shadow_perfgate.errors import EnvironmentFaultError, InputError, MeasureError
from shadow_perfgate.guard import dirty
from shadow_perfgate.guard.nvml import open_gpu
from shadow_perfgate.measure import checkout, fresh, process
from shadow_perfgate.measure.launch import Launchers
from shadow_perfgate.measure.local import LocalMeasurer
from shadow_perfgate.measure.plan import Plan
from shadow_perfgate.model import Session

Planned = Callable[..., Plan]
STREAMING = """
def generate(prompts, output_tokens):
    for step in range(output_tokens):
        yield [len(prompt) + step for prompt in prompts]
"""
CALL = {"engine": "callable", "callable": {"call": "bench.py:generate"}}


def ignore(_what: str, _done: int, _total: int) -> None:
    """Report no progress."""


def measured(plan: Plan, folder: Path, code: str = STREAMING, runs: int = 1) -> Session:
    (folder / "bench.py").write_text(code, encoding="utf-8")
    return LocalMeasurer(plan, folder).candidate(runs, ignore)


@pytest.fixture(autouse=True)
def own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Tests that run side by side would find each other's lock.
    monkeypatch.setattr(dirty.tempfile, "tempdir", str(tmp_path))


def test_a_callable_that_streams_has_every_latency_and_a_digest(planned: Planned, tmp_path: Path) -> None:
    session = measured(planned(**CALL, leak_batches=6), tmp_path, runs=2)
    first, second = session.runs
    assert {"itl_median", "ttft_median", "e2e_median", "output_tps", "host_ram_peak"} <= first.metrics.keys()
    assert first.metrics["output_tokens"] == 4 * 3 * 2
    assert first.requests == 8
    assert first.output_digest == second.output_digest != ""
    assert len(first.series["host_quiescent"].values) == 6
    assert not any(name.startswith("peak_vram") for name in first.metrics)
    assert any(note.startswith("VRAM was not measured") for note in session.notes)
    assert session.fingerprint.keys["vram_measured"] == "no"


def test_a_callable_that_returns_whole_answers_has_its_own_definition(
    planned: Planned, tmp_path: Path
) -> None:
    session = measured(
        planned(**CALL), tmp_path, "def generate(prompts, n):\n    return [['t'] * n for _ in prompts]"
    )
    assert "itl_median" not in session.runs[0].metrics
    definitions = {spec.name: spec.definition for spec in session.metrics}
    assert definitions["tpot_median"] == "request/tokens"
    assert definitions["e2e_median"] == "1"


def test_a_loader_is_called_once_and_its_time_is_the_start_time(planned: Planned, tmp_path: Path) -> None:
    code = "def load():\n    return lambda prompts, n: [['t'] * n for _ in prompts]"
    session = measured(planned(engine="callable", callable={"load": "bench.py:load"}), tmp_path, code)
    assert session.runs[0].metrics["start_time"] > 0


@pytest.mark.parametrize(
    "answers",
    [
        "    for _ in range(n):\n        yield [next(c) for _ in prompts]",
        "    return [[next(c)] for _ in prompts]",
    ],
)
def test_answers_that_change_within_a_run_have_no_digest(
    planned: Planned, tmp_path: Path, answers: str
) -> None:
    code = "import itertools\nc = itertools.count()\ndef generate(prompts, n):\n"
    session = measured(planned(**CALL), tmp_path, code + answers)
    assert session.runs[0].output_digest == ""
    assert any("outputs differ between passes" in note for note in session.notes)


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        (
            "def generate(prompts, n):\n    raise RuntimeError('boom')",
            "every request failed, the first with RuntimeError: boom",
        ),
        ("def generate(prompts, n):\n    return 'text'", "expected a list of 2 answers, one per prompt"),
        ("def generate(prompts, n):\n    yield [1, 2, 3]", "yielded 3 tokens for 2 prompts"),
        ("def other():\n    pass", "no function 'generate'; functions there: other"),
        ("import nowhere_to_be_found", "No module named 'nowhere_to_be_found'"),
        ("import os\nos._exit(9)", "the process died with 9 before it gave a result"),
    ],
)
def test_a_workload_that_fails_says_how(planned: Planned, tmp_path: Path, code: str, fault: str) -> None:
    with pytest.raises(MeasureError, match=fault) as caught:
        measured(planned(**CALL), tmp_path, code)
    assert str(caught.value).startswith("candidate (")


def test_a_process_that_takes_too_long_is_ended_with_its_children(planned: Planned, tmp_path: Path) -> None:
    (tmp_path / "bench.py").write_text(
        "import os, subprocess, time\nchild = subprocess.Popen(['sleep', '600'])\n"
        "open('told', 'w').write(f'{os.getpid()} {child.pid}')\nos.rename('told', 'pids')\ntime.sleep(600)",
        encoding="utf-8",
    )
    plan = planned(**CALL)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    launchers = Launchers()
    started = launchers.of(plan, tmp_path).start(plan, tmp_path, scratch)
    pids = tmp_path / "pids"
    while not pids.exists():
        assert running(started.pid)
    with pytest.raises(MeasureError, match=r"did not end within 0 s \(timeout_s\); raise the limit"):
        started.wait(0.01)
    started.end()
    launchers.close()
    assert not [pid for pid in pids.read_text(encoding="utf-8").split() if running(int(pid))]


def running(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[
            0
        ] != "Z"
    except OSError:
        return False


def test_preloaded_packages_are_imported_once_and_every_run_is_a_process_of_its_own(
    planned: Planned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "installed"
    installed.mkdir()
    (installed / "slow_package.py").write_text("open('imported', 'a').write('x')", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(installed), prepend=os.pathsep)
    code = (
        "import os, slow_package\nopen('pids', 'a').write(f'{os.getpid()} ')\n"
        "def generate(prompts, n):\n    for _ in range(n):\n        yield [1 for _ in prompts]"
    )
    measured(planned(**CALL, preload=["slow_package"]), tmp_path, code, runs=3)
    assert (tmp_path / "imported").read_text(encoding="utf-8") == "x"
    assert len(set((tmp_path / "pids").read_text(encoding="utf-8").split())) == 3


def test_preloading_shows_one_arm_no_modules_of_the_other(planned: Planned, tmp_path: Path) -> None:
    for arm in ("base", "head"):
        (tmp_path / arm).mkdir()
        (tmp_path / arm / "bench.py").write_text("import only_here\n" + STREAMING, encoding="utf-8")
    (tmp_path / "head" / "only_here.py").write_text("", encoding="utf-8")
    measurer = LocalMeasurer(planned(**CALL, preload=["json"]), tmp_path / "head", tmp_path / "base")
    measurer.candidate(1, ignore)
    with pytest.raises(MeasureError, match=r"base \(base\): .*No module named 'only_here'"):
        measurer.pairs(0, 1, ignore)


def test_base_that_runs_the_candidates_code_is_refused(
    planned: Planned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for arm in ("base", "head"):
        (tmp_path / arm / "src").mkdir(parents=True)
        (tmp_path / arm / "src" / "library.py").write_text("", encoding="utf-8")
        (tmp_path / arm / "bench.py").write_text("import library\n" + STREAMING, encoding="utf-8")
    # What an editable installation of the candidate does.
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "head" / "src"), prepend=os.pathsep)
    measurer = LocalMeasurer(planned(**CALL), tmp_path / "head", tmp_path / "base")
    measurer.candidate(1, ignore)
    with pytest.raises(MeasureError, match=r"base imported .*head/src of the candidate's checkout"):
        measurer.pairs(0, 1, ignore)


def test_a_package_that_cannot_be_preloaded_is_named(planned: Planned, tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match="preload"):
        measured(planned(**CALL, preload=["nowhere_to_be_found"]), tmp_path)


def test_a_preloaded_run_that_hangs_is_ended_and_the_next_one_works(planned: Planned, tmp_path: Path) -> None:
    hanging = planned(**CALL, preload=["json"], timeout_s=1)
    launchers = Launchers()
    (tmp_path / "bench.py").write_text("import time\ntime.sleep(600)", encoding="utf-8")
    with pytest.raises(MeasureError, match="did not end within 1 s"):
        fresh.measure(hanging, tmp_path, None, None, launchers.of(hanging, tmp_path))
    (tmp_path / "bench.py").write_text(STREAMING, encoding="utf-8")
    usual = planned(**CALL, preload=["json"])
    done = fresh.measure(usual, tmp_path, None, None, launchers.of(usual, tmp_path))
    assert done.run.metrics["output_tokens"] == 24
    launchers.close()


def test_a_command_brings_its_own_names(planned: Planned, tmp_path: Path) -> None:
    code = 'print(\'warming up\')\nprint(\'{"latency": 12.5, "vram": null, "device": "cpu"}\')'
    names = {"latency": "tpot_median", "vram": "peak_vram_allocated"}
    plan = planned(engine="command", command={"argv": ["python3", "bench.py"], "metrics": names})
    session = measured(plan, tmp_path, code)
    assert session.runs[0].metrics["tpot_median"] == 12.5
    assert "peak_vram_allocated" not in session.runs[0].metrics
    assert session.command == ("python3", "bench.py")


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("print('done')", "printed no JSON object"),
        ("print('{\"a\": 1')", "is broken"),
        ("print('{\"a\": NaN}')", "figures that are no numbers: a = nan"),
        ('print(\'{"a": "fast"}\')', "printed no figure"),
        ("raise SystemExit('no GPU here')", "ended with 1: no GPU here"),
        ("print('{\"metrics\": [1]}')", r"metrics: got \[1\]"),
        ("print('{\"metrics\": null}')", "metrics: got None"),
        ('print(\'{"metrics": {"a": 1}, "requests": "many"}\')', "requests: got many"),
        ('print(\'{"metrics": {"a": 1}, "requests": 1e999}\')', "requests: got inf"),
        ("print('{\"a\": 1' + '0' * 400 + '}')", "figures that are no numbers: a = inf"),
        ("print('{\"a\":' * 100_000)", "is broken"),
    ],
)
def test_a_command_without_figures_is_refused(
    planned: Planned, tmp_path: Path, code: str, fault: str
) -> None:
    with pytest.raises(MeasureError, match=fault):
        measured(planned(engine="command", command={"argv": ["python3", "bench.py"]}), tmp_path, code)


def test_a_command_that_is_not_there_is_named(planned: Planned, tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match="'no-such-program' cannot be started"):
        measured(planned(engine="command", command={"argv": ["no-such-program"]}), tmp_path)


SERVER = """
import json, os, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def do_POST(self):
        self.send_response(200)
        self.end_headers()
        for word in ("one", "two", "three"):
            event = {"choices": [{"delta": {"content": word}}]}
            self.wfile.write(f"data: {json.dumps(event)}\\n\\n".encode())

open("pids", "a").write(f"{os.getpid()} ")
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_a_server_is_started_afresh_for_every_run_and_stopped_after_it(
    planned: Planned, tmp_path: Path
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (tmp_path / "server.py").write_text(SERVER, encoding="utf-8")
    options = {"url": f"http://127.0.0.1:{port}/v1", "server": [sys.executable, "server.py", str(port)]}
    session = LocalMeasurer(planned(engine="openai", openai=options), tmp_path).candidate(2, ignore)
    assert [run.metrics["output_tokens"] for run in session.runs] == [24, 24]
    assert session.runs[0].output_digest == session.runs[1].output_digest != ""
    pids = (tmp_path / "pids").read_text(encoding="utf-8").split()
    assert len(set(pids)) == 2
    assert not [pid for pid in pids if running(int(pid))]


def test_pairs_are_interleaved_over_both_checkouts(planned: Planned, tmp_path: Path) -> None:
    for arm in ("base", "head"):
        (tmp_path / arm).mkdir()
        code = STREAMING.replace("len(prompt)", f"{len(arm)}")
        (tmp_path / arm / "bench.py").write_text(
            code + f"\nopen('../order', 'a').write('{arm} ')", encoding="utf-8"
        )
    measurer = LocalMeasurer(planned(**CALL), tmp_path / "head", tmp_path / "base")
    base, candidate = measurer.pairs(1, 3, ignore)
    assert (tmp_path / "order").read_text(encoding="utf-8").split() == ["head", "base", "base", "head"]
    assert [(run.pair, run.position) for run in base.runs] == [(1, 3), (2, 4)]
    assert [(run.pair, run.position) for run in candidate.runs] == [(1, 2), (2, 5)]
    assert base.workload == candidate.workload


def test_the_machine_is_held_from_the_first_run_to_the_end_of_the_gate(
    planned: Planned, tmp_path: Path
) -> None:
    (tmp_path / "bench.py").write_text(STREAMING, encoding="utf-8")
    shared = Launchers()
    for name in ("one", "two"):
        LocalMeasurer(planned(**CALL, name=name), tmp_path, launchers=shared).candidate(1, ignore)
        with (
            pytest.raises(EnvironmentFaultError, match="another measurement is running"),
            dirty.exclusive(None),
        ):
            pass
    shared.close()
    with dirty.exclusive(None):
        pass


def test_a_gpu_that_stays_busy_is_refused(
    planned: Planned, tmp_path: Path, nvml: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvml.compute = {4194304: 774.0}
    monkeypatch.setattr(fresh, "SETTLE_S", 0.0)
    plan = planned(**CALL)
    with pytest.raises(EnvironmentFaultError, match="GPU is busy: process 4194304"):
        fresh.measure(plan, tmp_path, open_gpu(nvml=nvml), 0.0, Launchers().of(plan, tmp_path))


def test_cuda_counts_gpus_as_nvml_does(planned: Planned, tmp_path: Path) -> None:
    code = "import os\nopen('order', 'w').write(os.environ['CUDA_DEVICE_ORDER'])\n" + STREAMING
    measured(planned(**CALL), tmp_path, code)
    assert (tmp_path / "order").read_text(encoding="utf-8") == "PCI_BUS_ID"


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    argv = ["git", *who, *arguments]
    return subprocess.run(argv, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_the_base_is_a_working_tree_of_its_own_and_gone_afterwards(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "file").write_text("base", encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "base")
    (tmp_path / "file").write_text("changed", encoding="utf-8")
    with checkout.at(tmp_path, "HEAD", [["sh", "-c", "echo ready > made"]]) as tree:
        assert (tree / "file").read_text(encoding="utf-8") == "base"
        assert (tree / "made").exists()
    assert not tree.exists()
    assert len(git(tmp_path, "worktree", "list").splitlines()) == 1
    with pytest.raises(MeasureError, match="prepare: 'false'"), checkout.at(tmp_path, "HEAD", [["false"]]):
        pass
    with pytest.raises(InputError, match="'0123abc' cannot be checked out"), checkout.at(tmp_path, "0123abc"):
        pass


def test_the_worker_sees_this_package_and_the_checkout_only(tmp_path: Path) -> None:
    with process.package_path() as folder:
        assert [path.name for path in Path(folder).glob("[!.]*")] == ["shadow_perfgate"]
        assert process.environment(folder, [folder], {})["PYTHONPATH"].startswith(folder)
    assert process.interpreter("venv/bin/python", tmp_path) == str(tmp_path / "venv/bin/python")
    assert process.interpreter("python3.12", tmp_path) == "python3.12"
