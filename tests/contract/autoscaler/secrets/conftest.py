"""The sources of secrets that keep the contract."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from shadow_autoscaler.adapters.aws_secrets import AwsSecrets
from shadow_autoscaler.adapters.local_secrets import EnvironmentSecrets, FileSecrets
from shadow_autoscaler.ports import Secrets
from shadow_autoscaler.testing.secrets import FakeSecrets


@dataclass(slots=True)
class Vault:
    """A source of secrets and how its owner changes them."""

    secrets: Secrets
    rotate: Callable[[str, str], None]
    """Set a value; the one before stays valid beside it."""
    forget: Callable[[str], None]
    """End a rotation."""


def _fake(_: Path) -> Vault:
    secrets = FakeSecrets()
    return Vault(secrets, secrets.rotate, secrets.forget)


def _files(folder: Path) -> Vault:
    def rotate(name: str, value: str) -> None:
        path = folder / name
        if path.exists():
            path.rename(folder / f"{name}.previous")
        path.write_text(f"{value}\n", encoding="utf-8")

    return Vault(
        FileSecrets(folder), rotate, lambda name: (folder / f"{name}.previous").unlink(missing_ok=True)
    )


def _environment(_: Path) -> Vault:
    variables: dict[str, str] = {}

    def rotate(name: str, value: str) -> None:
        variable = "SHADOW_" + name.upper().replace("-", "_").replace(".", "_")
        if variable in variables:
            variables[f"{variable}_PREVIOUS"] = variables[variable]
        variables[variable] = value

    def forget(name: str) -> None:
        variables.pop("SHADOW_" + name.upper().replace("-", "_") + "_PREVIOUS", None)

    return Vault(EnvironmentSecrets("SHADOW_", variables), rotate, forget)


KINDS = {"memory": _fake, "files": _files, "environment": _environment}


def _aws(client: Any) -> Vault:
    prefix = f"test-{uuid.uuid4().hex[:12]}/"

    def rotate(name: str, value: str) -> None:
        try:
            client.put_secret_value(SecretId=prefix + name, SecretString=value)
        except client.exceptions.ResourceNotFoundException:
            client.create_secret(Name=prefix + name, SecretString=value)

    def forget(name: str) -> None:
        versions = client.describe_secret(SecretId=prefix + name)["VersionIdsToStages"]
        former = next(version for version, stages in versions.items() if "AWSPREVIOUS" in stages)
        client.update_secret_version_stage(
            SecretId=prefix + name, VersionStage="AWSPREVIOUS", RemoveFromVersionId=former
        )

    return Vault(AwsSecrets(client, prefix), rotate, forget)


@pytest.fixture(params=[*KINDS, "aws"])
def vault(request: pytest.FixtureRequest, tmp_path: Path) -> Vault:
    """An empty source of each kind."""
    if request.param == "aws":
        return _aws(request.getfixturevalue("aws")("secretsmanager"))
    return KINDS[request.param](tmp_path)
