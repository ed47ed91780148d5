"""The demonstration of fresh machines ends when nothing more can come."""

import io
from typing import Any

import pytest
from rich.console import Console

from localcloud.quickstart import controller, fresh
from localcloud.world import World


def test_jobs_that_failed_on_machines_nobody_took_away_end_it_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[dict[str, Any]] = [{"jobs": [], "vms": []}, _facts("running", "busy"), _facts("done", "gone")]
    monkeypatch.setattr(controller, "boot", lambda: iter(()))
    monkeypatch.setattr(controller, "status", lambda: looks.pop(0))
    monkeypatch.setattr(fresh, "_push", lambda _console, _world: None)
    with pytest.raises(fresh.FreshError, match=r"inference \(long\): failure"):
        fresh.run(Console(file=io.StringIO()), World())
    assert not looks


def _facts(status: str, phase: str) -> dict[str, Any]:
    names = ("inference (long)", "inference (short)", "inference")
    job = {
        "forge": "github",
        "status": status,
        "conclusion": "failure" if status == "done" else "",
        "why": "",
    }
    vm = {"phase": phase, "cause": "", "market": "on-demand", "flavor": "edge-c4m16-gpu-2000-1"}
    return {
        "jobs": [
            {**job, "name": name, "key": name, "vm": f"gpu-{place}"} for place, name in enumerate(names)
        ],
        "vms": [{**vm, "name": f"gpu-{place}"} for place in range(3)],
    }
