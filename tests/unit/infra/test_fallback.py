"""The fallback command, with a `pulumi` that answers from files."""

import json
from pathlib import Path
from typing import Any

import pytest

import fallback as command

INSTANCE = "urn:pulumi:dev::acme::x:InstanceGroup$openstack:compute/instance:Instance::gpu-02"
STACK = "urn:pulumi:dev::acme::pulumi:pulumi:Stack::acme-dev"


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `pulumi` on PATH that records its calls; `up` fails once with what is in `events`."""
    program = tmp_path / "pulumi"
    program.write_text(f"""#!/bin/sh
cd {tmp_path}
echo "$@" >>calls
case "$1 $2" in
    "config get") if [ "$3" = pools ]; then cat pools; else echo gone; fi ;;
    "up --stack") if [ -e events ]; then cat events; rm events; exit 255; fi ;;
esac
""")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return tmp_path / "calls"


def fail(calls: Path, urn: str, message: str, market: str = "spot-then-on-demand") -> None:
    diagnostic: dict[str, Any] = {"urn": urn, "severity": "error", "message": message}
    calls.with_name("events").write_text(json.dumps({"diagnosticEvent": diagnostic}) + "\n")
    pool = {"name": "gpu", "market": market, "onDemandFallback": ["gpu-01"]}
    calls.with_name("pools").write_text(json.dumps([pool]))


@pytest.fixture(autouse=True)
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clouds = tmp_path / "clouds.yaml"
    auth = "{auth_url: 'http://127.0.0.1:9/v3', username: u, password: p, project_name: p}"
    clouds.write_text(f"clouds: {{gone: {{auth: {auth}}}}}\n")
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(clouds))


def test_what_had_no_room_is_moved_and_up_runs_again(calls: Path) -> None:
    fail(calls, INSTANCE, "No valid host was found")
    assert command.main(["--stack", "dev"]) == 0
    (change,) = [line for line in calls.read_text().splitlines() if line.startswith("config set")]
    assert change.startswith("config set --path pools[0].onDemandFallback[1] gpu-02 --stack dev")
    assert calls.read_text().count("up --stack dev") == 2


@pytest.mark.parametrize(
    ("urn", "message", "market"),
    [
        (INSTANCE, "Quota exceeded for instances", "spot-then-on-demand"),
        (INSTANCE, "No valid host was found", "spot"),
        (STACK, "the stack can't be built as configured", "spot-then-on-demand"),
    ],
)
def test_another_fault_is_shown_and_changes_nothing(
    calls: Path, capsys: pytest.CaptureFixture[str], urn: str, message: str, market: str
) -> None:
    fail(calls, urn, message, market)
    assert command.main(["--stack", "dev"]) == 1
    assert message in capsys.readouterr().err
    assert "config set" not in calls.read_text()


def test_a_cloud_that_cannot_be_asked_is_exit_2(calls: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = "(788034bd-b14f-418a-813d-2e6d2cc1dce0) to become ready: unexpected state 'ERROR'"
    fail(calls, INSTANCE, f"Error waiting for instance {server}")
    assert command.main(["--stack", "dev"]) == 2
    assert "OpenStack could not be asked" in capsys.readouterr().err
