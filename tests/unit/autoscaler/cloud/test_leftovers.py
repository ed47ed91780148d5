"""What the sweep takes for ours without a mark: what Nova made, never what somebody attached by hand."""

from typing import Any, cast

import pytest

from shadow_autoscaler.adapters.openstack_leftovers import Sweep
from shadow_autoscaler.adapters.openstack_marks import Marks
from shadow_autoscaler.adapters.openstack_session import Call, Session


class Project:
    """A project with one volume and one port, both at one server."""

    def __init__(self, **change: Any) -> None:
        at = {"attachments": [{"server_id": "s1"}], "device_id": "s1", "device_owner": "compute:nova"}
        self.thing = {"id": "t1", "name": "", "status": "available", "bootable": "true", **at, **change}
        self.marked: list[Call] = []

    def project_id(self) -> str:
        return "p1"

    def list(self, _service: str, path: str, _key: str, **_params: str) -> list[dict[str, Any]]:
        return [] if path == "/floatingips" else [self.thing]

    def call(self, call: Call) -> dict[str, Any]:
        self.marked.append(call)
        return {}


def _sweep(project: Project) -> Sweep:
    return Sweep(cast("Session", project), Marks("acme"), frozenset, {"s1": "gpu-1"})


def test_what_nova_made_for_a_living_server_is_marked() -> None:
    project = Project()
    assert _sweep(project).find(lambda: {"s1": "gpu-1"}) == ()
    assert [call.method for call in project.marked] == ["PUT", "POST"]


def test_what_nova_made_for_a_server_that_is_gone_is_left_over() -> None:
    found = _sweep(Project()).find(dict)
    assert [(item.leftover_id, item.vm) for item in found] == [("t1", "gpu-1")] * 2


@pytest.mark.parametrize("change", [{"name": "my-data"}, {"description": "mine"}])
def test_what_somebody_attached_by_hand_is_neither_marked_nor_left_over(change: dict[str, str]) -> None:
    project = Project(**change)
    assert _sweep(project).find(lambda: {"s1": "gpu-1"}) == ()
    assert not project.marked
    assert _sweep(project).find(dict) == ()


def test_a_nameless_disk_of_data_is_not_marked() -> None:
    project = Project(bootable="false")
    assert _sweep(project).find(lambda: {"s1": "gpu-1"}) == ()
    assert [call.path for call in project.marked] == ["/ports/t1"]
