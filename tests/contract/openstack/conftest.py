"""Tenants on the local cloud; everything they make is gone afterwards."""

from collections.abc import Iterator

import pytest

from localcloud.openstack import tenants
from localcloud.openstack.lab import Lab


@pytest.fixture(scope="session")
def session_lab() -> Iterator[Lab]:
    lab = Lab.open(tenants.make(tenants.unused_name("contract-openstack")))
    yield lab
    lab.connection.close()
    lab.tenant.delete()


@pytest.fixture
def lab(session_lab: Lab) -> Iterator[Lab]:
    """A tenant with a network and nothing else."""
    yield session_lab
    session_lab.delete(*session_lab.connection.compute.servers(details=False))
