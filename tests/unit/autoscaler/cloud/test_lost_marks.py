"""A server that is there and carries our mark no more is not gone: it costs on."""

from typing import Any

import pytest

from shadow_autoscaler.adapters.openstack import Machine, OpenStackCloud, OpenStackSettings
from shadow_autoscaler.core.faults import FailureKind, PortError


@pytest.mark.parametrize("metadata", [{}, {"shadow-gpu-runners.deployment": "former-name"}])
def test_a_server_without_our_mark_is_not_taken_for_gone(
    metadata: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud = OpenStackCloud(OpenStackSettings("acme", "cloud", Machine("image", "network")))
    shown: dict[str, Any] = {"server": {"id": "s1", "status": "ACTIVE", "metadata": metadata}}
    monkeypatch.setattr(cloud._session, "find", lambda _call: shown)
    with pytest.raises(PortError, match="server s1 lacks the mark of 'acme': left alone") as caught:
        cloud.server("s1")
    assert caught.value.failure.kind is FailureKind.CONFLICT
    assert cloud.console("s1") == ""


def test_a_server_that_nova_does_not_know_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = OpenStackCloud(OpenStackSettings("acme", "cloud", Machine("image", "network")))
    monkeypatch.setattr(cloud._session, "find", lambda _call: None)
    assert cloud.server("s1") is None
