"""Parts of the runner stand-in: masking, configuration, scripts."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcloud.standins import _gitlab_runner_script as script
from localcloud.standins._gitlab_runner_config import ConfigError, duration_s, load, system_id
from localcloud.standins._gitlab_runner_trace import Masker

SECRET = "s3cr3t-value"


@given(st.lists(st.integers(1, 9), max_size=30), st.text(alphabet="s3cr3t-valu\n ", max_size=40))
def test_a_secret_is_masked_however_the_output_is_cut(sizes: list[int], noise: str) -> None:
    text = f"{noise}{SECRET}{noise}".encode()
    masker, shown = Masker([SECRET], []), b""
    for size in sizes:
        shown += masker.feed(text[:size])
        text = text[size:]
    shown += masker.feed(text) + masker.finish()
    assert SECRET.encode() not in shown
    assert b"[MASKED]" in shown


@given(st.text(alphabet="abc \n", max_size=50))
def test_other_output_passes_unchanged(text: str) -> None:
    masker = Masker([SECRET], ["glrt-"])
    assert masker.feed(text.encode()) + masker.finish() == text.encode()


def test_tokens_are_masked_by_their_prefix() -> None:
    masker = Masker([], ["glpat-"])
    assert masker.feed(b"use glpat-abc_DEF now\n") + masker.finish() == b"use glpat-[MASKED] now\n"


def test_longer_secrets_come_first() -> None:
    masker = Masker(["abc", "abcdef"], [])
    assert masker.feed(b"abcdef!") + masker.finish() == b"[MASKED]!"


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(text)
    return path


def test_defaults_of_the_configuration(tmp_path: Path) -> None:
    found = load(
        write(tmp_path, "[[runners]]\nname = 'a'\nurl = 'http://x/'\ntoken = 'glrt-0123456789abc'\n")
    )
    assert (found.concurrent, found.check_interval_s, found.shutdown_timeout_s) == (1, 3.0, 30.0)
    assert (found.runners[0].url, found.runners[0].short_token) == ("http://x", "012345678")
    assert (found.runners[0].unhealthy_requests_limit, found.runners[0].unhealthy_interval_s) == (3, 3600.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("concurrent = '2'", 'last key "concurrent"): incompatible types: TOML value has type string'),
        ("[[runners]]\nlimit = true", "destination has type int"),
        ("[[runners]]\n[runners.docker]\ngpus = ['all']", '"runners.docker.gpus"): incompatible types'),
        ("[[runners]]\n[runners.docker]\nvolumes = '/cache'", r"destination has type []string"),
        ("[runners]\nname = 'a'", '"runners"): incompatible types'),
        ("[[runners]]\n[runners.cache.s3]\nInsecure = 'no'", '"runners.cache.s3.Insecure"'),
        ("concurrent =", "toml: "),
    ],
)
def test_wrong_values_are_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(write(tmp_path, text))
    assert words in str(refused.value)


def test_every_wrong_value_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        load(write(tmp_path, "concurrent = '2'\nlog_level = 3\n"))
    assert str(refused.value).count("incompatible types") == 2


def test_unknown_keys_are_only_warned_about(tmp_path: Path) -> None:
    found = load(write(tmp_path, "[[runners]]\n[runners.docker]\ngpu = 'all'\n"))
    assert found.warnings == ("unknown key runners.docker.gpu is ignored",)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load(tmp_path / "none.toml")


def test_the_system_id_is_made_once_and_kept_private(tmp_path: Path) -> None:
    first = system_id(tmp_path / "config.toml")
    assert system_id(tmp_path / "config.toml") == first
    assert (tmp_path / ".runner_system_id").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("value", "seconds"), [("1h30m", 5400.0), ("500ms", 0.5), (2_000_000_000, 2.0)])
def test_durations(value: object, seconds: float) -> None:
    assert duration_s(value) == seconds


def test_variables_refer_to_each_other() -> None:
    variables = script.collect(
        [{"key": "A", "value": "$B/x"}, {"key": "B", "value": "b"}, {"key": "R", "value": "$B", "raw": True}],
        [{"key": "B", "value": "c$MISSING"}, {"key": "SELF", "value": "$SELF:y"}],
    )
    assert script.expanded(variables) == {"A": "c/x", "B": "c", "R": "$B", "SELF": ":y"}


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_the_script_stops_at_the_first_failure(tmp_path: Path, shell: str) -> None:
    text = script.build({"NAME": "it's"}, ["echo $NAME", "cat", "false", "echo never"], str(tmp_path))
    done = subprocess.run([shell], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "it's\n" in done.stdout
    assert "$ cat" in done.stdout
    assert "\nnever" not in done.stdout
