"""What `recovery` makes of a state with begun creations."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fallback
from recovery import pending
from recovery.__main__ import main

SERVER, PORT = "urn:pulumi:s::p::openstack:compute/instance:Instance::gpu-01", "urn:pulumi:s::p::t::port"


def state(*operations: dict[str, Any]) -> dict[str, Any]:
    return {
        "version": 3,
        "deployment": {"resources": [{"urn": "first"}], "pending_operations": list(operations)},
    }


def begun(urn: str, kind: str = "creating") -> dict[str, Any]:
    return {"type": kind, "resource": {"urn": urn, "type": "t", "inputs": {"userData": {"ciphertext": "x"}}}}


def test_what_exists_becomes_a_resource_with_its_inputs_and_the_rest_is_dropped() -> None:
    before = state(begun(SERVER), begun(PORT))
    after = pending.settled(before, {SERVER: "id-1"})["deployment"]
    assert [resource["urn"] for resource in after["resources"]] == ["first", SERVER]
    assert after["resources"][1]["id"] == "id-1"
    assert after["resources"][1]["outputs"] == {"userData": {"ciphertext": "x"}, "id": "id-1"}
    assert after["pending_operations"] == []
    assert len(before["deployment"]["pending_operations"]) == 2


def test_other_pending_operations_stay() -> None:
    after = pending.settled(state(begun(SERVER), begun(PORT, "deleting")), {})["deployment"]
    assert [entry["type"] for entry in after["pending_operations"]] == ["deleting"]


def test_a_state_without_pending_operations_has_no_creations() -> None:
    assert pending.creations({"deployment": {"resources": []}}) == []
    found = pending.creations(state(begun(SERVER), begun(PORT, "updating")))
    assert [entry.urn for entry in found] == [SERVER]


@pytest.fixture
def exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the `pulumi` on PATH prints, whatever it is asked."""
    program = tmp_path / "pulumi"
    program.write_text(f'#!/bin/sh\ncat "{tmp_path}/answer"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return tmp_path / "answer"


@pytest.mark.parametrize("text", ['{"version": 3}', '{"version": 3, "deployment": null}'])
def test_a_stack_that_was_never_up_has_nothing_half_done(
    exported: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exported.write_text(text)
    assert main(["--stack", "dev"]) == 0
    assert "nothing was left half-done" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "printed no JSON"),
        ("warning: beta", "printed no JSON"),
        ("[]", "settle it by hand"),
        ('{"deployment": 5}', "settle it by hand"),
        ('{"deployment": {"pending_operations": [5]}}', "settle it by hand"),
        ('{"deployment": {"pending_operations": [{"type": "creating"}]}}', "settle it by hand"),
    ],
)
def test_a_state_that_cannot_be_read_is_said_with_the_remedy(
    exported: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exported.write_text(text)
    assert main(["--stack", "dev"]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("command", [main, fallback.main])
def test_without_the_engine_on_path_the_remedy_is_said(
    command: Callable[[list[str]], int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert command(["--stack", "dev"]) == 1
    assert "scripts/engine --env" in capsys.readouterr().err
