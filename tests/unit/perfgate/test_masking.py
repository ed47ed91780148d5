"""Secrets that measured code prints, or that a command is given, reach no report and no session."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shadow_perfgate.errors import MeasureError
from shadow_perfgate.masking import MASK, mask, tail, words

SECRETS = {
    "CI_JOB_TOKEN": "glcbt-64_JustAToken",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG",
    "HF_TOKEN": "hf_abcdefgh",
    "DB_PASSWORD": "correct horse",
}


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**SECRETS, "TOKENIZERS_PARALLELISM": "false", "TOKEN_FILE": "/run/token"}.items():
        monkeypatch.setenv(name, value)


def test_values_of_secret_variables_are_masked_and_other_words_stay() -> None:
    for value in SECRETS.values():
        assert mask(f"denied: {value}.") == f"denied: {MASK}."
    assert mask("false: /run/token is not there") == "false: /run/token is not there"
    assert mask("cannot reach https://me:pa55@host/x") == f"cannot reach https://{MASK}@host/x"


def test_a_secret_that_is_cut_in_two_is_masked_first() -> None:
    assert tail(f"key {SECRETS['AWS_SECRET_ACCESS_KEY']} refused", 20) == f"key {MASK} refused"[-20:]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["serve", "--api-key", "sk-1", "--port", "8"], ["serve", "--api-key", MASK, "--port", "8"]),
        (["serve", "--api-key=sk-1"], ["serve", f"--api-key={MASK}"]),
        (["env", "HF_TOKEN=x", "A=1"], ["env", f"HF_TOKEN={MASK}", "A=1"]),
        (["-H", "Authorization: Bearer abc"], ["-H", f"Authorization: Bearer {MASK}"]),
        (["--tokenizer", "t", "--max-tokens", "9", "--eos-token", "e"],) * 2,
        (["serve", "--api-key"],) * 2,
    ],
)
def test_words_of_a_command_lose_its_secrets(given: list[str], kept: list[str]) -> None:
    assert words(given) == kept


def test_every_error_is_masked() -> None:
    error = MeasureError(f"died: {SECRETS['HF_TOKEN']}")
    assert error.faults == (f"died: {MASK}",)
    assert str(error) == f"died: {MASK}"


CONFIG = """
[[workload]]
name = "w"
engine = "command"
[workload.command]
argv = ["sh", "bench.sh", "--api-key", "sk-literal"]
"""


@pytest.mark.parametrize("code", [0, 1])
def test_neither_sessions_nor_messages_hold_a_secret(tmp_path: Path, code: int) -> None:
    (tmp_path / "perfgate.toml").write_text(CONFIG, encoding="utf-8")
    bench = f'echo "$CI_JOB_TOKEN $DB_PASSWORD" >&2; echo \'{{"itl_median": 1}}\'; exit {code}'
    (tmp_path / "bench.sh").write_text(bench, encoding="utf-8")
    argv = [sys.executable, "-m", "shadow_perfgate", "run", "-n", "1"]
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    ended = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == (2 if code else 0)
    written = [path.read_text(encoding="utf-8") for path in tmp_path.glob("perfgate-sessions/*.json")]
    said = "".join([ended.stdout, ended.stderr, *written])
    assert not [value for value in [*SECRETS.values(), "sk-literal"] if value in said]
    assert MASK in said
    if written:
        assert json.loads(written[0])["command"] == ["sh", "bench.sh", "--api-key", MASK]
