"""The `Servers` port: the adapter over the real Nova and the one in memory keep the same promises."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from lab import encoded

from localcloud.guests.memory import MemoryServers
from localcloud.guests.nova import NovaServers
from localcloud.guests.servers import Address, Server, Servers
from localcloud.openstack import clouds, tenants
from localcloud.openstack.lab import Lab as Tenancy
from localcloud.processes import wait_until

if TYPE_CHECKING:
    from openstack.connection import Connection

USER_DATA = encoded("#cloud-config\nruncmd: [[true]]\n")
FLAVOR = "micro-c1m2"


class World(Protocol):
    """A compute service under test and its owner's hands."""

    @property
    def servers(self) -> Servers: ...
    def create(self) -> str: ...
    def act(self, server_id: str, verb: str) -> None: ...


@dataclass
class Memory:
    """Servers in memory."""

    servers: MemoryServers

    def create(self) -> str:
        server_id = str(uuid.uuid4())
        address = Address("10.77.0.9", "lab", "fa:16:3e:00:00:09")
        made = Server(
            server_id, "port-test", "ACTIVE", FLAVOR, "p", metadata={"mark": "yes"}, addresses=(address,)
        )
        self.servers.add(Server(**{n: getattr(made, n) for n in made.__slots__} | {"user_data": USER_DATA}))
        return server_id

    def act(self, server_id: str, verb: str) -> None:
        getattr(self.servers, verb)(server_id)


@dataclass
class Nova:
    """A tenant of the real Nova."""

    servers: NovaServers
    tenancy: Tenancy

    def create(self) -> str:
        made = self.tenancy.boot("port-test", FLAVOR, user_data=USER_DATA, metadata={"mark": "yes"})
        assert made.status == "ACTIVE"
        return str(made.id)

    def act(self, server_id: str, verb: str) -> None:
        compute: Any = self.tenancy.connection.compute
        calls = {
            "start": compute.start_server,
            "stop": compute.stop_server,
            "delete": compute.delete_server,
            "reboot": lambda server: compute.reboot_server(server, "SOFT"),
        }
        calls[verb](server_id)


@pytest.fixture(scope="module")
def nova() -> Iterator[Nova]:
    tenancy = Tenancy.open(tenants.make(tenants.unused_name("contract-guests")))
    admin: Connection = clouds.connect()
    yield Nova(NovaServers(admin), tenancy)
    admin.close()
    tenancy.connection.close()
    tenancy.tenant.delete()


@pytest.fixture(params=["memory", pytest.param("nova", marks=pytest.mark.localcloud)])
def world(request: pytest.FixtureRequest) -> World:
    made: World = Memory(MemoryServers()) if request.param == "memory" else request.getfixturevalue("nova")
    return made


def one(world: World, server_id: str) -> Server | None:
    return next((server for server in world.servers.list() if server.id == server_id), None)


def status(world: World, server_id: str) -> str:
    found = one(world, server_id)
    return found.status if found else "gone"


def test_a_server_is_listed_with_all_that_a_guest_needs(world: World) -> None:
    found = one(world, server_id := world.create())
    assert found
    assert (found.id, found.name, found.status, found.flavor) == (server_id, "port-test", "ACTIVE", FLAVOR)
    assert (found.user_data, dict(found.metadata)) == (USER_DATA, {"mark": "yes"})
    assert [(a.network, a.kind, a.ip.startswith("10.77.0.")) for a in found.addresses] == [
        ("lab", "fixed", True)
    ]
    assert USER_DATA not in repr(found)
    world.act(server_id, "delete")


def test_a_deleted_server_is_listed_no_more(world: World) -> None:
    server_id = world.create()
    assert status(world, server_id) == "ACTIVE"
    world.act(server_id, "delete")
    assert wait_until(lambda: status(world, server_id) == "gone", 60)
    assert world.servers.power_actions(server_id) == ()


def test_a_server_is_stopped_and_stopping_it_again_does_nothing(world: World) -> None:
    server_id = world.create()
    world.servers.stop(server_id)
    assert wait_until(lambda: status(world, server_id) == "SHUTOFF", 60)
    world.servers.stop(server_id)
    world.servers.stop("00000000-0000-4000-8000-000000000000")
    assert status(world, server_id) == "SHUTOFF"
    world.act(server_id, "delete")


def test_power_actions_come_newest_first_and_change_the_record(world: World) -> None:
    server_id = world.create()
    before = one(world, server_id)
    assert before
    assert world.servers.power_actions(server_id) == ()
    world.act(server_id, "stop")
    assert wait_until(lambda: status(world, server_id) == "SHUTOFF", 60)
    world.act(server_id, "start")
    assert wait_until(lambda: status(world, server_id) == "ACTIVE", 60)
    world.act(server_id, "reboot")
    assert wait_until(lambda: len(world.servers.power_actions(server_id)) == 2, 60)
    assert [action.name for action in world.servers.power_actions(server_id)] == ["reboot", "start"]
    after = one(world, server_id)
    assert after
    assert after.updated != before.updated
    world.act(server_id, "delete")
