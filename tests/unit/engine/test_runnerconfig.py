"""GitLab Runner's own parser (`scripts/engine --with runner`) tells good configurations from bad."""

import json
import subprocess
from functools import cache
from pathlib import Path

import pytest
from engine_machine import ROOT

pytestmark = [pytest.mark.engine, pytest.mark.slow]

CONFIG = """
concurrent = 2
[[runners]]
  name = "shadow-gpu-runner-01"
  url = "https://gitlab.example.com/"
  token = "glrt-planted"
  executor = "docker"
  [runners.docker]
    image = "nvidia/cuda:12.1.0-base-ubuntu22.04"
    privileged = false
    volumes = ["/cache"]
    gpus = "all"
"""


@cache
def _parser() -> Path:
    command = [ROOT / "scripts" / "engine", "--with", "runner", "--bin"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Path(done.stdout.strip()) / "runnerconfig"


def _parse(text: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    file = folder / "config.toml"
    file.write_text(text, encoding="utf-8")
    return subprocess.run([_parser(), file], capture_output=True, text=True, check=False)


def test_a_good_configuration_is_printed_as_understood(tmp_path: Path) -> None:
    done = _parse(CONFIG, tmp_path)
    assert done.returncode == 0, done.stderr
    (runner,) = json.loads(done.stdout)["runners"]
    assert runner["docker"]["gpus"] == "all"
    assert runner["docker"]["volumes"] == ["/cache"]
    assert runner["executor"] == "docker"


@pytest.mark.parametrize(
    ("good", "bad", "complaint"),
    [
        ('gpus = "all"', 'gpuz = "all"', "GitLab Runner does not know runners.docker.gpuz"),
        ('gpus = "all"', 'gpus = ["all"]', "incompatible types"),
        ("concurrent = 2", 'concurrent = "two"', "incompatible types"),
        ("[runners.docker]", "[runners.docker", "expected"),
    ],
)
def test_a_bad_configuration_is_refused_by_name(tmp_path: Path, good: str, bad: str, complaint: str) -> None:
    done = _parse(CONFIG.replace(good, bad), tmp_path)
    assert done.returncode == 1
    assert complaint in done.stderr


def test_a_missing_argument_is_wrong_usage() -> None:
    done = subprocess.run([_parser()], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "usage: runnerconfig CONFIG.TOML" in done.stderr
