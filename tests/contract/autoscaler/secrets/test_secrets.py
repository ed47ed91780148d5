"""Secrets: current and former value, read anew at each use."""

from pathlib import Path
from typing import Any

import pytest

from shadow_autoscaler.adapters.local_secrets import EnvironmentSecrets, FileSecrets
from shadow_autoscaler.core.faults import FailureKind, PortError


def test_a_secret_is_read_as_it_was_set(vault: Any) -> None:
    vault.rotate("webhook-secret", "s3 cret=é/+")
    assert vault.secrets.get("webhook-secret") == ("s3 cret=é/+",)


def test_a_secret_of_many_lines_keeps_them(vault: Any) -> None:
    vault.rotate("private-key", "-----BEGIN-----\nabc\n-----END-----")
    assert vault.secrets.get("private-key") == ("-----BEGIN-----\nabc\n-----END-----",)


def test_in_a_rotation_both_values_are_valid_the_current_one_first(vault: Any) -> None:
    vault.rotate("webhook-secret", "old")
    vault.rotate("webhook-secret", "new")
    assert vault.secrets.get("webhook-secret") == ("new", "old")
    vault.forget("webhook-secret")
    assert vault.secrets.get("webhook-secret") == ("new",)


def test_only_the_last_former_value_stays_valid(vault: Any) -> None:
    for value in ("one", "two", "three"):
        vault.rotate("webhook-secret", value)
    assert vault.secrets.get("webhook-secret") == ("three", "two")


def test_a_missing_secret_is_a_configuration_fault_that_names_it(vault: Any) -> None:
    with pytest.raises(PortError, match="secret 'api-token'") as caught:
        vault.secrets.get("api-token")
    assert caught.value.failure.kind is FailureKind.CONFIG


@pytest.mark.parametrize("name", ["../passwd", "/etc/passwd", "", "a/b", "a\0b", ".hidden", "x" * 129])
def test_a_name_cannot_lead_out_of_the_folder(name: str, tmp_path: Path) -> None:
    for secrets in (FileSecrets(tmp_path / "in"), EnvironmentSecrets(environment={})):
        with pytest.raises(PortError, match=r"secret name .*: expected letters"):
            secrets.get(name)


def test_an_empty_secret_is_a_missing_one(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("\n", encoding="utf-8")
    with pytest.raises(PortError, match="token is empty; write the secret to it"):
        FileSecrets(tmp_path).get("token")
    with pytest.raises(PortError, match="variable SHADOW_TOKEN is empty"):
        EnvironmentSecrets(environment={"SHADOW_TOKEN": ""}).get("token")


def test_a_file_that_is_no_text_is_named_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(b"leaked-\xff\xfe")
    with pytest.raises(PortError, match="is not UTF-8 text") as caught:
        FileSecrets(tmp_path).get("token")
    assert "leaked" not in str(caught.value)
