"""Brings the control plane up, stops it, and puts the empty cloud back."""

import shutil
import signal
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from localcloud.openstack import (
    catalog,
    clouds,
    config,
    database,
    install,
    layout,
    ready,
    schema,
    seed,
    snapshot,
    stubs,
)
from localcloud.openstack.record import Record
from localcloud.openstack.services import APIS, BACKENDS, COMPUTES, NAMES, WORKERS, services
from localcloud.processes import Service, require_free_ports
from localcloud.progress import Progress
from localcloud.world import ADMIN_CLOUD, World


def known() -> dict[str, Service]:
    """Every service by name, whether or not it was ever started."""
    return services(install.venv())


def complete() -> bool:
    """Whether everything was made by this configuration, runs and answers."""
    record = Record.load()
    current = record is not None and record.fingerprint == config.fingerprint()
    if record is None or not current or record.seed != seed.fingerprint():
        return False
    return all(service.healthy() for service in known().values())


def up(progress: Progress) -> None:
    """Install, configure and start what is missing, whatever state an earlier run was left in."""
    if complete():
        progress.say("OpenStack runs already")
        return
    install.ensure_packages(progress)
    venv = install.ensure_venv(progress)
    world = World.ensure()
    record = _fitting_record(progress)
    plane = services(venv)
    _release(plane)
    require_free_ports(plane.values())
    config.write(venv, world)
    clouds.put(ADMIN_CLOUD, clouds.admin_entry(world))
    _start_backends(plane, progress)
    if not record.schema:
        progress.say("making the database schemas (about half a minute)")
        schema.create(venv, world)
        record = record.done(schema=True)
    _start_services(plane, progress, record, world)
    _finish(venv, progress)


def down(progress: Progress) -> None:
    """Stop everything; the state stays."""
    plane = known()
    if not any(service.members() for service in plane.values()):
        return
    progress.say("stopping OpenStack")
    stubs.stop_all()
    _stop(plane[name] for name in (*WORKERS, *APIS))
    for name in ("rabbit", "epmd", "db"):
        plane[name].stop()


def reset(progress: Progress) -> None:
    """End everything and put the empty cloud back; without a fitting snapshot all state is thrown away."""
    if not snapshot.exists(config.fingerprint()):
        down(progress)
        discard()
        return
    progress.say("restoring the empty cloud")
    plane = known()
    stubs.stop_all()
    for name in (*WORKERS, *APIS, "rabbit", "epmd"):
        plane[name].kill()
    config.token_file().unlink(missing_ok=True)
    for path in (
        layout.data() / "rabbit",
        layout.data() / "glance",
        layout.data() / "cinder",
        layout.faults(),
    ):
        shutil.rmtree(path, ignore_errors=True)
    plane["db"].start()
    plane["db"].wait_ready()
    snapshot.restore()


def discard() -> None:
    """Remove all state of the control plane; the services must be stopped."""
    shutil.rmtree(layout.home(), ignore_errors=True)


def _fitting_record(progress: Progress) -> Record:
    fingerprint = config.fingerprint()
    record = Record.load()
    if record is not None and record.fingerprint == fingerprint:
        return record
    if layout.home().exists():
        progress.say("the state on disk was made by another configuration: building a new cloud")
        down(progress)
        discard()
    layout.home().mkdir(parents=True, mode=0o700)
    return Record(fingerprint).done()


def _release(plane: Mapping[str, Service]) -> None:
    """Undo faults that would keep a service from starting: pauses and stand-ins that answer errors."""
    stubs.stop_all()
    for service in plane.values():
        if service.paused():
            service.signal(signal.SIGCONT)


def _start_backends(plane: Mapping[str, Service], progress: Progress) -> None:
    database.initialise()
    _start(plane, BACKENDS, progress)
    plane["db"].wait_ready()


def _start_services(plane: Mapping[str, Service], progress: Progress, record: Record, world: World) -> None:
    """Start in the order of who waits for whom; a compute that misses its conductor waits for long."""
    _start(plane, ["keystone"], progress)
    plane["keystone"].wait_ready(90)
    if not record.catalog:
        progress.say("making users, services and endpoints")
        with clouds.connect() as admin:
            catalog.create(admin, world)
        record.done(catalog=True)
    plane["rabbit"].wait_ready()
    others = [name for name in (*APIS, *WORKERS) if name not in COMPUTES]
    _start(plane, ["nova-conductor", *others], progress)
    for name in ("nova-api", *APIS):
        plane[name].wait_ready(120)
    with clouds.connect() as admin:
        ready.wait_for(admin, plane, ["nova-conductor"])
        _start(plane, COMPUTES, progress)
        progress.say("waiting for the compute and storage services to report")
        ready.wait_for(admin, plane)


def _finish(venv: Path, progress: Progress) -> None:
    record = Record.load()
    if record is None:
        return
    if not record.hosts:
        schema.discover_hosts(venv)
        record = record.done(hosts=True)
    if record.seed != seed.fingerprint():
        progress.say("making flavors, image, external network and the tenant project")
        with clouds.connect() as admin:
            empty = not record.seed or not list(admin.compute.servers(all_projects=True))
            seed.apply(admin)
        record = record.done(seed=seed.fingerprint())
        if empty:
            snapshot.take(record)


def _start(plane: Mapping[str, Service], names: Iterable[str], progress: Progress) -> None:
    started = [name for name in names if plane[name].start()]
    if started:
        progress.say(f"started {', '.join(started)}")


def _stop(chosen: Iterable[Service]) -> None:
    with ThreadPoolExecutor(len(NAMES)) as pool:
        list(pool.map(Service.stop, chosen))
