"""Names to IDs: asked once, kept until the cloud refuses one of them."""

import re
import threading
from dataclasses import dataclass

from shadow_autoscaler.adapters.openstack_session import Service, Session
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError

_UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Kind:
    service: Service
    path: str
    key: str
    by_name: bool
    """Whether the list can be asked for one name."""


_KINDS = {
    "flavor": _Kind("compute", "/flavors", "flavors", by_name=False),
    "image": _Kind("image", "/images", "images", by_name=True),
    "network": _Kind("network", "/networks", "networks", by_name=True),
    "security group": _Kind("network", "/security-groups", "security_groups", by_name=True),
}


class Lookup:
    """Finds flavors, images, networks and security groups by name; an ID stands for itself."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._ids: dict[tuple[str, str], str] = {}

    def find(self, kind: str, name: str) -> str:
        """Return the ID of a `flavor`, `image`, `network` or `security group`.

        Raises:
            PortError: there is none, or more than one, of that name (CONFIG).
        """
        if kind != "flavor" and _UUID.fullmatch(name):
            return name
        with self._lock:
            if (kind, name) not in self._ids:
                self._ids[kind, name] = self._ask(kind, name)
            return self._ids[kind, name]

    def forget(self) -> None:
        """Ask anew from now on: something was renamed, replaced or removed."""
        with self._lock:
            self._ids.clear()

    def _ask(self, kind: str, name: str) -> str:
        what = _KINDS[kind]
        params = {"name": name} if what.by_name else {}
        listed = self._session.list(what.service, what.path, what.key, **params)
        found = [item["id"] for item in listed if item["name"] == name]
        if not found and not what.by_name:
            found = [item["id"] for item in listed if item["id"] == name]
        if len(found) == 1:
            return str(found[0])
        raise PortError(Failure(FailureKind.CONFIG, _complaint(kind, name, found)))


def _complaint(kind: str, name: str, found: list[str]) -> str:
    if found:
        return f"{len(found)} {kind}s are called {name!r}: give the ID, one of {', '.join(found[:3])}"
    return f"{kind} {name!r} does not exist in this region or is not visible; see `openstack {kind} list`"
