"""The running local cloud: a tenant's server comes alive from its own user-data."""

import json
from collections.abc import Iterator

import pytest
from lab import encoded, report, sh

from localcloud import guests
from localcloud.guests.guest import Guest
from localcloud.openstack import tenants
from localcloud.openstack.lab import Lab as Tenancy
from localcloud.processes import wait_until

pytestmark = pytest.mark.localcloud
FLAVOR = "edge-preemptible-c4m16-gpu-2000-1"
USER_DATA = """#!/bin/bash
nvidia-smi -L >/dev/console
echo "shadow-runner: phase=ready status=ok reason=$(hostname)" >/dev/console
"""


@pytest.fixture
def tenancy() -> Iterator[Tenancy]:
    made = Tenancy.open(tenants.make(tenants.unused_name("contract-guests-boot")))
    yield made
    made.connection.close()
    made.tenant.delete()


def test_a_tenant_s_server_boots_is_reclaimed_stopped_started_and_deleted(tenancy: Tenancy) -> None:
    server = tenancy.boot("spot-runner", FLAVOR, user_data=encoded(USER_DATA), metadata={"owner": "contract"})
    guest, compute = Guest(str(server.id)), tenancy.connection.compute
    assert wait_until(lambda: report(guest).get("state") == "done", 90), report(guest)
    assert (report(guest)["phase"], report(guest)["reason"]) == ("ready", "spot-runner")
    assert "RTX 2000 Ada" in compute.get_server_console_output(server.id)["output"]
    guests.reclaim(guest.id, 900)
    document = json.loads(sh(guest, "curl -fs $SHADOW_METADATA_URL/openstack/latest/meta_data.json").stdout)
    assert set(document["meta"]) == {"owner", "spot_termination_time"}
    compute.stop_server(server.id)
    assert wait_until(lambda: guest.process() is None, 60)
    compute.start_server(server.id)
    assert wait_until(lambda: report(guest).get("boots") == 2 and report(guest).get("state") == "done", 90)
    tenancy.delete(server)
    assert wait_until(lambda: not guest.folder.exists(), 60)
