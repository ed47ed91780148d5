"""Waits until every worker has reported to its API after it was started."""

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import psutil

from localcloud.openstack import layout
from localcloud.openstack.services import WORKERS
from localcloud.processes import Service, ServiceError

if TYPE_CHECKING:
    from openstack.connection import Connection

_POLL_SECONDS = 0.5


def wait_for(
    admin: "Connection", services: Mapping[str, Service], names: Iterable[str] = WORKERS, seconds: float = 150
) -> None:
    """Wait until the workers named are up and, with all of them, the volume scheduler knows its pool.

    Raises:
        ServiceError: a worker has exited, or the time ran out.
    """
    end, wanted = time.monotonic() + seconds, set(names)
    missing = _missing(admin, services, wanted)
    while missing:
        for name in wanted:
            if not services[name].running():
                services[name].wait_ready(0)
        if time.monotonic() > end:
            raise ServiceError(
                f"no report from {', '.join(sorted(missing))} after {seconds:.0f} s; "
                "see `scripts/localcloud logs`."
            )
        time.sleep(_POLL_SECONDS)
        missing = _missing(admin, services, wanted)


def _missing(admin: "Connection", services: Mapping[str, Service], wanted: set[str]) -> set[str]:
    waiting = wanted - _reported(admin, services)
    if waiting or "cinder-scheduler" not in wanted:
        return waiting
    # Asked before the scheduler listens, this request would be lost and hang until its timeout.
    pools = {pool.name for pool in admin.block_storage.backend_pools()}
    return {layout.VOLUME_POOL} - pools


def _reported(admin: "Connection", services: Mapping[str, Service]) -> set[str]:
    reported: set[str] = set()
    sources: list[Callable[[], Any]] = [admin.compute.services, admin.block_storage.services]
    for source in sources:
        for entry in source():
            name = f"compute-{entry.host}" if entry.binary == "nova-compute" else entry.binary
            if name in services and entry.state == "up" and _later(entry.updated_at, services[name]):
                reported.add(name)
    return reported


def _later(updated_at: str | None, service: Service) -> bool:
    """Whether a report was made after the service's start: an old heartbeat still reads "up" for a while."""
    pid = service.pid()
    if pid is None or not updated_at:
        return False
    reported = datetime.fromisoformat(updated_at[:19]).replace(tzinfo=UTC).timestamp()
    try:
        return reported >= int(psutil.Process(pid).create_time())
    except psutil.Error:
        return False
