"""What keeps the adapter from signing in: each with the place, and none as an unknown outcome."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from shadow_autoscaler.adapters.openstack import Machine, OpenStackCloud, OpenStackSettings
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError
from shadow_autoscaler.ports import ServerSpec

SPEC = ServerSpec("gpu-1", "flavor", {"vm": "gpu-1"}, "#cloud-config\n")


def failure(tmp_path: Path, entry: object, cloud: str = "shadow") -> Failure:
    file = tmp_path / "clouds.yaml"
    file.write_text(entry if isinstance(entry, str) else yaml.safe_dump({"clouds": {"shadow": entry}}))
    settings = OpenStackSettings("acme.dev", cloud, Machine("image", "network"), clouds_file=str(file))
    with pytest.raises(PortError) as caught:
        OpenStackCloud(settings).create(SPEC)
    return caught.value.failure


def closed_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def entry(**auth: str) -> dict[str, object]:
    known = {"application_credential_id": "1", "application_credential_secret": "planted-secret"}
    return {"auth_type": "v3applicationcredential", "auth": {**known, **auth}}


def test_an_entry_that_is_not_there_is_named_with_the_file(tmp_path: Path) -> None:
    found = failure(tmp_path, entry(auth_url="http://127.0.0.1/v3"), cloud="shadw")
    assert found.kind is FailureKind.CONFIG
    assert f"{tmp_path}/clouds.yaml: cloud 'shadw' cannot be used" in found.text


def test_an_entry_without_an_address_is_a_fault_of_the_configuration(tmp_path: Path) -> None:
    found = failure(tmp_path, entry())
    assert found.kind is FailureKind.CONFIG
    assert "auth_url" in found.text
    assert "planted-secret" not in found.text


def test_a_keystone_that_nobody_listens_at_means_that_nothing_was_sent(tmp_path: Path) -> None:
    found = failure(tmp_path, entry(auth_url=f"http://127.0.0.1:{closed_port()}/v3"))
    assert found.kind is FailureKind.TRANSIENT
    assert "127.0.0.1" in found.text


def test_a_file_that_is_no_yaml_is_named(tmp_path: Path) -> None:
    found = failure(tmp_path, "clouds: [")
    assert found.kind is FailureKind.CONFIG
    assert "clouds.yaml" in found.text


def test_the_sdk_is_loaded_at_the_first_call_only() -> None:
    code = "import sys, shadow_autoscaler.adapters.openstack; print('openstack' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"
