"""How the command ends when it is cancelled, or where it may not write."""

import os
import signal
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from gate_sessions import B7, session
from shadow_perfgate import codec
from shadow_perfgate.decide.rules import Role, Rules, Threshold
from shadow_perfgate.decide.verdict import Verdict
from shadow_perfgate.decide.workload import decide_workload
from shadow_perfgate.measure import checkout
from shadow_perfgate.measure.process import Spawned

TODAY = date(2026, 11, 30)
COMMAND = (sys.executable, "-m", "shadow_perfgate")
CONFIG = """
[[workload]]
name = "w"
engine = "command"
[workload.command]
argv = ["sh", "bench.sh"]
"""


def test_a_cancelled_job_leaves_no_process_behind(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "perfgate.toml").write_text(CONFIG, encoding="utf-8")
    # The shell holds the pipe open: its end is read when the last process of the workload is gone.
    (tmp_path / "bench.sh").write_text("exec 3>pipe; echo started >&3; sleep 300", encoding="utf-8")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    env = {**os.environ, "TMPDIR": str(scratch)}
    with subprocess.Popen(
        [*COMMAND, "run", "-n", "1"], cwd=tmp_path, env=env, stderr=subprocess.DEVNULL
    ) as job:
        with pipe.open(encoding="utf-8") as told:
            assert told.readline() == "started\n"
            job.send_signal(signal.SIGTERM)
            assert told.read() == ""
        assert job.wait(60) == 128 + signal.SIGTERM
    assert not list(scratch.glob("perfgate-*"))


@pytest.mark.parametrize("place", ["/proc/none/reports", "/dev/null/reports"])
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, place: str) -> None:
    file = tmp_path / "b.json"
    file.write_text(codec.dumps(session({"itl_median": B7})), encoding="utf-8")
    argv = [*COMMAND, "compare", str(file), str(file), "--reports", place]
    ended = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "check the path, its rights and the space left" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_gate_that_nobody_made_able_to_block_is_invalid() -> None:
    given = session({"e2e_p95": B7})
    decided = decide_workload(given, given, Rules(), TODAY)
    assert decided.verdict is Verdict.INVALID
    assert "no metric can block: e2e_p95" in decided.findings[0].message
    watched = Rules(thresholds={"e2e_p95": Threshold(Role.OBSERVE, 0.05)})
    assert decide_workload(given, given, watched, TODAY).verdict is Verdict.PASS


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_arrows_gets_the_verdict(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "b.json"
    file.write_text(codec.dumps(session({"itl_median": B7})), encoding="utf-8")
    argv = [*COMMAND, "compare", str(file), str(file)]
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    ended = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, check=False)
    assert ended.returncode == 0
    assert b"perfgate PASS" in ended.stdout


def test_a_prepare_command_may_print_any_bytes(tmp_path: Path) -> None:
    checkout.made_ready(tmp_path, [["printf", "\\377"]])


def test_a_process_that_is_just_being_started_is_ended_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, made = subprocess.Popen[bytes], list[subprocess.Popen[bytes]]()

    def starting(*arguments: Any, **settings: Any) -> subprocess.Popen[bytes]:
        made.append(real(*arguments, **settings))
        signal.raise_signal(signal.SIGTERM)
        return made[0]

    monkeypatch.setattr(subprocess, "Popen", starting)
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(number))
    try:
        with pytest.raises(SystemExit):
            Spawned(["sleep", "300"], tmp_path, os.environ, tmp_path)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert made[0].returncode is not None
