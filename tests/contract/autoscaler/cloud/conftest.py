"""The clouds that keep the contract; whatever a test leaves in the tenant is removed after it."""

import os
from collections.abc import Iterator

import pytest
from contract.autoscaler.cloud.labs import DEPLOYMENT, FakeLab, Lab, RealLab, full_flavor, machines, set_quota

from localcloud.openstack import clouds, tenants
from localcloud.openstack.lab import Lab as Tenancy
from shadow_autoscaler.adapters.openstack import OpenStackCloud, OpenStackSettings

NAME = f"contract-autoscaler-cloud-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
INSTANCES = 20


@pytest.fixture(scope="session")
def _tenancy() -> Iterator[Tenancy]:
    if NAME in clouds.entries():
        tenants.find(NAME).delete()
    tenancy = Tenancy.open(tenants.make(NAME, {"instances": INSTANCES}))
    with full_flavor():
        yield tenancy
    tenancy.connection.close()
    tenancy.tenant.delete()


@pytest.fixture
def real(_tenancy: Tenancy) -> Iterator[RealLab]:
    """The adapter for an empty tenant of the local cloud."""
    pools = machines(_tenancy.network_id)
    settings = OpenStackSettings(
        DEPLOYMENT, NAME, pools["local"], pools=pools, clouds_file=str(clouds.path()), timeout_s=60
    )
    lab = RealLab(_tenancy, OpenStackCloud(settings), settings)
    yield lab
    lab.clean()
    set_quota(_tenancy.tenant.project_id, instances=INSTANCES)


@pytest.fixture(params=[pytest.param("real", marks=pytest.mark.localcloud), "fake"])
def lab(request: pytest.FixtureRequest) -> Lab:
    """Every cloud there is."""
    if request.param == "fake":
        return FakeLab()
    found: Lab = request.getfixturevalue("real")
    return found
