"""Rendered configuration: complete, private, and known by a fingerprint."""

import configparser
from pathlib import Path

import pytest

from localcloud.openstack import config, layout
from localcloud.world import World


@pytest.fixture
def rendered(tmp_path: Path) -> World:
    venv = tmp_path / "venv"
    paste = venv / "etc/nova/api-paste.ini"
    paste.parent.mkdir(parents=True)
    paste.write_text("[composite:osapi_compute]\n")
    world = World()
    config.write(venv, world)
    return world


def parse(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.read_string((layout.etc() / name).read_text())
    return parser


@pytest.mark.usefixtures("rendered")
def test_every_file_is_private_and_has_no_open_placeholder() -> None:
    files = list(layout.etc().iterdir())
    assert {path.name for path in files} >= {
        "keystone.conf",
        "nova.conf",
        "compute-host1.conf",
        "api-paste.ini",
    }
    for path in files:
        assert path.stat().st_mode & 0o077 == 0, path
        assert "{{" not in path.read_text(), path


def test_services_log_in_with_the_clouds_own_password(rendered: World) -> None:
    for name in ("nova.conf", "neutron.conf", "cinder.conf", "glance-api.conf", "placement.conf"):
        assert parse(name)["keystone_authtoken"]["password"] == rendered.admin_password


@pytest.mark.usefixtures("rendered")
def test_every_address_is_loopback() -> None:
    for path in layout.etc().iterdir():
        for line in path.read_text().splitlines():
            if "://" in line and "mysql" not in line:
                assert "://127.0.0.1:" in line or "@127.0.0.1:" in line, f"{path.name}: {line}"


@pytest.mark.usefixtures("rendered")
def test_a_compute_host_keeps_its_node_id() -> None:
    files = {host.name: layout.data() / f"nova-{host.name}" / "compute_id" for host in layout.HOSTS}
    ids = {name: path.read_text() for name, path in files.items()}
    assert len(set(ids.values())) == len(layout.HOSTS)
    config.write(layout.home().parent / "venv", World())
    assert {name: path.read_text() for name, path in files.items()} == ids


@pytest.mark.usefixtures("rendered")
def test_each_gpu_has_an_alias_that_flavors_can_ask_for() -> None:
    text = (layout.etc() / "nova.conf").read_text()
    for alias, product in layout.GPU_PRODUCTS.items():
        assert f'"product_id": "{product}"' in text
        assert f'"name": "{alias}"' in text


def test_token_life_is_an_hour_unless_a_test_has_set_it(rendered: World) -> None:
    assert parse("keystone.conf")["token"]["expiration"] == "3600"
    config.token_file().write_text("5")
    config.write(layout.home().parent / "venv", rendered)
    assert parse("keystone.conf")["token"]["expiration"] == "5"


def test_the_fingerprint_follows_templates_and_hosts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = config.fingerprint()
    assert config.fingerprint() == before
    with monkeypatch.context() as patch:
        patch.setattr(layout, "HOSTS", layout.HOSTS[:1])
        assert config.fingerprint() != before
    templates = tmp_path / "etc"
    templates.mkdir()
    (templates / "nova.conf.j2").write_text("[DEFAULT]\n")
    monkeypatch.setattr(config, "TEMPLATES", templates)
    assert config.fingerprint() != before
