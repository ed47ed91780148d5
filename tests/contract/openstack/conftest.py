"""Tenants on the local cloud; everything they make is gone afterwards."""

from collections.abc import Iterator

import pytest

from localcloud.openstack import clouds, tenants
from localcloud.openstack.lab import Lab

NAME = "contract-openstack"


@pytest.fixture(scope="session")
def session_lab() -> Iterator[Lab]:
    if NAME in clouds.entries():
        tenants.find(NAME).delete()
    lab = Lab.open(tenants.make(NAME))
    yield lab
    lab.connection.close()
    lab.tenant.delete()


@pytest.fixture
def lab(session_lab: Lab) -> Iterator[Lab]:
    """A tenant with a network and nothing else."""
    yield session_lab
    session_lab.delete(*session_lab.connection.compute.servers(details=False))
