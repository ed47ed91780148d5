"""The control plane's services as they will be started."""

from pathlib import Path

import pytest

from localcloud import extras
from localcloud.openstack import layout
from localcloud.openstack.services import NAMES, services
from localcloud.world import World

VENV = Path("/venv")


def test_every_name_has_a_service_in_the_order_of_start() -> None:
    assert sorted(services(VENV)) == sorted(NAMES)
    assert list(services(VENV))[:3] == ["db", "epmd", "rabbit"]


def test_no_command_line_holds_a_password() -> None:
    for service in services(VENV).values():
        assert "password" not in " ".join(service.command).lower()


def test_apis_listen_on_loopback_and_their_ports_must_be_free() -> None:
    for name, service in services(VENV).items():
        if name in {"keystone", "glance", "placement", "neutron", "nova-api", "cinder-api"}:
            assert f"127.0.0.1:{layout.PORTS[name]}" in service.command
            assert service.ports == (layout.PORTS[name],)


def test_each_host_gets_its_own_cards() -> None:
    plane = services(VENV)
    assert plane["compute-host1"].env["LOCALCLOUD_PCI"] == "10de:28b0:8,10de:2232:16"
    assert plane["compute-host2"].env["LOCALCLOUD_PCI"] == "10de:28b0:8,10de:2232:8"


def test_a_proxy_of_the_caller_is_not_used_for_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    assert "127.0.0.1" in services(VENV)["nova-api"].env["no_proxy"]


@pytest.mark.parametrize(("name", "port"), [("gitlab", 8929), ("github", 8930)])
def test_a_simulator_listens_where_the_world_file_says(name: str, port: int) -> None:
    assert extras.service(name).ports == (port,)
    World(gitlab_url="http://127.0.0.1:9929", github_url="http://127.0.0.1:9930").save()
    moved = extras.service(name)
    assert moved.ports == (port + 1000,)
    assert moved.command[-2:] == ("--port", str(port + 1000))
