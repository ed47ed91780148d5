"""The control plane's services and how each is started."""

import os
import socket
from collections.abc import Mapping
from pathlib import Path

from localcloud.openstack import layout
from localcloud.openstack.config import DRIVERS
from localcloud.openstack.install import RABBITMQ, program
from localcloud.paths import log_dir, state_home
from localcloud.processes import Service, http_ok, port_open

APIS = ("keystone", "placement", "glance", "neutron", "nova-api", "cinder-api")
COMPUTES = tuple(host.service for host in layout.HOSTS)
WORKERS = ("nova-conductor", "nova-scheduler", "cinder-scheduler", "cinder-volume", *COMPUTES)
BACKENDS = ("db", "epmd", "rabbit")
NAMES = (*BACKENDS, *APIS, *WORKERS)
"""All services in the order of their start."""


def services(venv: Path) -> dict[str, Service]:
    """Every service of the control plane by name, in the order of their start."""
    known = [_database(), _epmd(), _rabbit(), *_apis(venv), *_workers(venv)]
    return {service.name: service for service in known}


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Variables for programs of the OpenStack virtual environment."""
    return {
        "PYTHONPATH": str(DRIVERS),
        "PYTHONWARNINGS": "ignore",
        "PYTHONUNBUFFERED": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "2",
        "LOCALCLOUD_FAULTS": str(layout.faults()),
        "LOCALCLOUD_GUESTS": str(state_home() / "guests"),
        "no_proxy": "127.0.0.1,localhost",
        "NO_PROXY": "127.0.0.1,localhost",
        **(extra or {}),
    }


def _database() -> Service:
    options = {
        "datadir": layout.data() / "mysql",
        "socket": layout.socket(),
        "pid-file": layout.data() / "mariadbd.pid",
        "innodb-flush-log-at-trx-commit": 2,
        "innodb-doublewrite": 0,
        "innodb-buffer-pool-size": "192M",
        "innodb-log-file-size": "32M",
        "max-connections": 500,
        "performance-schema": "OFF",
        "character-set-server": "utf8mb3",
        "collation-server": "utf8mb3_general_ci",
        "table-open-cache": 2000,
    }
    user = ["--user=root"] if os.geteuid() == 0 else []
    flags = ["--skip-networking", "--skip-log-bin", "--skip-name-resolve"]
    settings = [f"--{name}={value}" for name, value in options.items()]
    command = (program("mariadbd"), "--no-defaults", *user, *flags, *settings)
    return Service("db", command, ready=database_answers, stop_seconds=30)


def database_answers() -> bool:
    """Whether the database takes connections."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(layout.socket())) == 0


def _epmd() -> Service:
    port = layout.PORTS["epmd"]
    command = (program("epmd"), "-address", "127.0.0.1", "-port", str(port))
    return Service("epmd", command, ready=lambda: port_open(port), ports=(port,), stop_seconds=3)


def _rabbit() -> Service:
    data, etc = layout.data() / "rabbit", layout.etc()
    port, distribution = layout.PORTS["rabbit"], layout.PORTS["rabbit-distribution"]
    env = {
        "HOME": str(data),
        "RABBITMQ_NODENAME": "localcloud@localhost",
        "RABBITMQ_MNESIA_BASE": str(data / "mnesia"),
        "RABBITMQ_LOG_BASE": str(log_dir()),
        "RABBITMQ_CONFIG_FILE": str(etc / "rabbitmq"),
        "RABBITMQ_CONF_ENV_FILE": os.devnull,
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(data / "plugins"),
        "RABBITMQ_PID_FILE": str(data / "pid"),
        "RABBITMQ_DIST_PORT": str(distribution),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "ERL_EPMD_PORT": str(layout.PORTS["epmd"]),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": (
            "-kernel inet_dist_use_interface {127,0,0,1} +S 1:1 +sbwt none"
        ),
        # Makes the start script become the server instead of a shell that waits for it.
        "RUNNING_UNDER_SYSTEMD": "true",
    }
    return Service("rabbit", (RABBITMQ,), env, lambda: port_open(port), (port, distribution), stop_seconds=20)


def _apis(venv: Path) -> list[Service]:
    etc = layout.etc()
    cinder = f"--config-file {etc}/cinder.conf --log-file {log_dir()}/cinder-api.log"
    return [
        _api(venv, "keystone", "keystone.wsgi.api", _configured("KEYSTONE", "keystone.conf"), path="/v3"),
        _api(venv, "placement", "placement.wsgi.api", {"OS_PLACEMENT_CONFIG_DIR": str(etc)}, threads=8),
        _api(venv, "glance", "glance.wsgi.api", _configured("GLANCE", "glance-api.conf"), threads=8),
        _api(venv, "neutron", "neutron.wsgi.api", _configured("NEUTRON", "neutron.conf;ml2.ini")),
        _api(
            venv,
            "nova-api",
            "nova.wsgi.osapi_compute",
            _configured("NOVA", "api-paste.ini;nova.conf;nova-api.conf"),
        ),
        _api(venv, "cinder-api", "cinder.wsgi.api", {}, arguments=("--pyargv", cinder)),
    ]


def _configured(project: str, files: str) -> dict[str, str]:
    return {f"OS_{project}_CONFIG_DIR": str(layout.etc()), f"OS_{project}_CONFIG_FILES": files}


def _api(
    venv: Path,
    name: str,
    module: str,
    env: Mapping[str, str],
    *,
    path: str = "/",
    threads: int = 16,
    arguments: tuple[str, ...] = (),
) -> Service:
    """One uWSGI process: without a master a second one would be left behind at TERM."""
    port = layout.PORTS[name]
    options = {
        "http-socket": f"127.0.0.1:{port}",
        "module": f"{module}:application",
        "processes": 1,
        "threads": threads,
        "add-header": "Connection: close",
        "buffer-size": 65535,
        "socket-timeout": 600,
        "listen": 100,
        "procname-prefix": f"localcloud-{name} ",
    }
    flags = [
        "--need-app",
        "--lazy-apps",
        "--enable-threads",
        "--die-on-term",
        "--disable-logging",
        "--log-date",
    ]
    pairs = [part for option, value in options.items() for part in (f"--{option}", str(value))]
    command = (str(venv / "bin" / "uwsgi"), *pairs, *flags, *arguments)
    address = layout.url(name) + path
    return Service(name, command, environment(env), lambda: http_ok(address), (port,))


def _workers(venv: Path) -> list[Service]:
    etc = layout.etc()
    nova = ("--config-file", str(etc / "nova.conf"))
    cinder = ("--config-file", str(etc / "cinder.conf"))
    programs = {
        "nova-conductor": nova,
        "nova-scheduler": nova,
        "cinder-scheduler": (*cinder, "--log-file", str(log_dir() / "cinder-scheduler.log")),
        "cinder-volume": (*cinder, "--log-file", str(log_dir() / "cinder-volume.log")),
    }
    found = [_worker(name, (str(venv / "bin" / name), *options)) for name, options in programs.items()]
    for host in layout.HOSTS:
        own = ("--config-file", str(etc / f"{host.service}.conf"))
        python = (str(venv / "bin" / "python"), str(DRIVERS / "compute.py"))
        found.append(_worker(host.service, (*python, *nova, *own), {"LOCALCLOUD_PCI": host.pci}))
    return found


def _worker(name: str, command: tuple[str, ...], env: Mapping[str, str] | None = None) -> Service:
    """A worker waits minutes for its peers before it ends by itself; what it does is safe to cut off."""
    return Service(name, command, environment(env), stop_seconds=3)
