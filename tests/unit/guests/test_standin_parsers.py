"""What the stand-ins read: unit files, docker's options, image names, addresses."""

from pathlib import Path

import pytest

from localcloud.standins import docker_options, images, keys, units
from localcloud.standins.images import ImageError

UNIT = """[Unit]
Description=demo
After=a.service b.service
Requires=a.service
[Service]
Environment=A=1 "B=two words"
EnvironmentFile=-/nonexistent/defaults
ExecStart=
ExecStart=/bin/echo old
ExecStart=
ExecStart=-/bin/echo "new value" \\
  more
RestartSec=500ms
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "demo.service").write_text(UNIT)
    return tmp_path


def test_a_unit_file(folder: Path) -> None:
    unit = units.load("demo", (folder,))
    assert unit.commands("ExecStart") == [(["/bin/echo", "new value", "more"], True)]
    assert unit.environment() == {"A": "1", "B": "two words"}
    assert unit.names("After", "Requires") == ["a.service", "b.service", "a.service"]
    assert unit.last("Type", "simple") == "simple"


def test_a_drop_in_adds_and_replaces(folder: Path) -> None:
    (folder / "demo.service.d").mkdir()
    (folder / "demo.service.d/10.conf").write_text("[Service]\nExecStart=\nExecStart=/bin/true\nUser=ci\n")
    unit = units.load("demo.service", (folder,))
    assert unit.commands("ExecStart") == [(["/bin/true"], False)]
    assert unit.last("User") == "ci"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("500ms", 0.5), ("5", 5), ("5s", 5), ("2min", 120), ("1h", 3600), ("soon", 9), ("", 9)],
)
def test_time_spans(folder: Path, text: str, seconds: float) -> None:
    (folder / "demo.service").write_text(f"[Service]\nRestartSec={text}\n")
    assert units.load("demo", (folder,)).seconds("RestartSec", 9) == seconds


def test_missing_and_masked_units(folder: Path) -> None:
    with pytest.raises(units.UnitError, match=r"Unit none\.service not found"):
        units.load("none", (folder,))
    (folder / "off.service").symlink_to("/dev/null")
    with pytest.raises(units.UnitError, match=r"Unit off\.service is masked"):
        units.load("off", (folder,))


def test_options_in_all_their_spellings(tmp_path: Path) -> None:
    (tmp_path / "env").write_text("# note\nC=3\n")
    options = docker_options.parse(
        [
            *("-it", "--rm", "--name=job", "-v/a:/b", "-e", "A=1", "-e", "B"),
            *(f"--env-file={tmp_path}/env", "-u", "1:2", "ubuntu", "--not-an-option"),
        ]
    )
    assert options.flags == {"interactive", "tty", "rm"}
    assert (options.last("name"), options.last("volume"), options.last("user")) == ("job", "/a:/b", "1:2")
    assert options.environment({"B": "2"}) == {"A": "1", "B": "2", "C": "3"}
    assert options.rest == ["ubuntu", "--not-an-option"]


@pytest.mark.parametrize(
    ("words", "text"), [(["--colour"], "unknown flag: --colour"), (["--name"], "needs an argument")]
)
def test_options_that_cannot_be_read(words: list[str], text: str) -> None:
    with pytest.raises(docker_options.UsageError, match=text):
        docker_options.parse(words)


@pytest.mark.parametrize(
    ("reference", "repository", "cuda"),
    [
        ("ubuntu", "ubuntu", False),
        ("docker.io/library/ubuntu:22.04", "ubuntu", False),
        ("nvidia/cuda:12.1.0-base-ubuntu22.04", "nvidia/cuda", True),
        ("mirror.example:5000/pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime", "pytorch/pytorch", True),
        ("python:3.12@sha256:0123", "python", False),
    ],
)
def test_known_images(reference: str, repository: str, cuda: bool) -> None:
    found = images.find(reference)
    assert (found.repository, found.cuda) == (repository, cuda)


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("acme/private:1", "pull access denied"),
        ("nvidia/cuda:latest", "manifest unknown"),
        ("", "invalid reference"),
    ],
)
def test_images_that_no_registry_has(reference: str, text: str) -> None:
    with pytest.raises(ImageError, match=text):
        images.find(reference)


@pytest.mark.parametrize(
    ("url", "fingerprint"),
    [
        ("https://packages.gitlab.com/gpg.key", "F6403F6544A38863DAA0B6E03F01618A51312F3F"),
        (
            "https://packages.gitlab.com/runner/gitlab-runner/gpgkey",
            "931DA69CFA3AFEBBC97DAA8C6C57C29C6BA75A4E",
        ),
        ("https://nvidia.github.io/libnvidia-container/gpgkey", "C95B321B61E88C1809C4F759DDCAE044F796ECB0"),
        ("https://download.docker.com/linux/ubuntu/gpg", "9DC858229FC7DD38854AE2D88D81803C0EBFCD88"),
        ("https://mirror.example/docker/key.asc", "9DC858229FC7DD38854AE2D88D81803C0EBFCD88"),
    ],
)
def test_repository_keys(url: str, fingerprint: str) -> None:
    key = keys.content(url)
    assert key
    assert keys.fingerprint(key.encode()) == fingerprint
    assert keys.fingerprint(keys.dearmor(key.encode())) == fingerprint


@pytest.mark.parametrize(
    "url", ["https://example.com/", "https://example.com/gpg", "ftp://download.docker.com/gpg"]
)
def test_other_addresses_have_no_content(url: str) -> None:
    assert keys.content(url) is None


def test_other_data_has_no_fingerprint() -> None:
    assert keys.fingerprint(b"<html>") is None
