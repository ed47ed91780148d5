"""Faults of the local cloud end with their block."""

import pytest

from localcloud.openstack import faults
from localcloud.processes import Service, ServiceError


def test_a_service_comes_back_when_its_fault_could_not_be_switched_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[str] = []
    monkeypatch.setattr(faults, "start", started.append)
    monkeypatch.setattr(faults, "service", lambda name: Service(name, ("true",), {}, lambda: True))

    def half(name: str) -> None:
        raise ServiceError(f"{name} was stopped, its stand-in does not start")

    with pytest.raises(ServiceError, match="stand-in"), faults.without("placement", half):
        pytest.fail("the block must not run")
    assert started == ["placement"]
