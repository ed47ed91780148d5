"""What is missing on a machine is installed, or named with the remedy."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from localcloud.openstack import install
from localcloud.processes import ServiceError
from localcloud.progress import Progress


def test_a_machine_without_apt_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_args, **_named: None)
    with pytest.raises(ServiceError, match="apt-get install bubblewrap git mariadb-server rabbitmq-server"):
        install.ensure_packages(Progress())


def test_a_user_without_sudo_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        shutil, "which", lambda name, **_named: "/usr/bin/apt-get" if name == "apt-get" else None
    )
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ServiceError, match="run as root"):
        install.ensure_packages(Progress())


def test_the_environment_is_named_by_its_requirements(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SHADOW_CACHE_HOME", str(tmp_path))
    usual = install.venv()
    assert usual.parent == tmp_path
    requirements = tmp_path / "openstack.txt"
    requirements.write_text("nova==1\n")
    monkeypatch.setattr(install, "_requirements", lambda: requirements)
    assert install.venv() != usual


def test_a_half_made_environment_is_made_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SHADOW_CACHE_HOME", str(tmp_path / "cache"))
    half = install.venv() / "half"
    half.mkdir(parents=True)
    fake = tmp_path / "uv"
    fake.write_text("#!/bin/sh\nexit 0\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(install, "_uv", lambda: str(fake))
    monkeypatch.setattr(install, "_venv_commands", lambda folder: iter([["mkdir", "-p", str(folder)]]))
    assert install.ensure_venv(Progress()) == install.venv()
    assert not half.exists()
    assert (install.venv() / ".complete").exists()


def test_a_failed_installation_shows_its_end_and_leaves_no_mark(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SHADOW_CACHE_HOME", str(tmp_path / "cache"))
    command = ["sh", "-c", "echo hash mismatch of nova; exit 3"]
    monkeypatch.setattr(install, "_venv_commands", lambda _folder: iter([command]))
    with pytest.raises(ServiceError, match="exit code 3:\nhash mismatch of nova"):
        install.ensure_venv(Progress())
    assert not (install.venv() / ".complete").exists()
