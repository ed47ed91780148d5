"""The autoscaler's controller as the quickstart sees it: its boot, and what its status page tells."""

import time
from collections.abc import Iterator
from typing import Any

import httpx

from localcloud.guests.guest import Guest
from localcloud.openstack import clouds
from localcloud.paths import port, state_home
from localcloud.world import TENANT_CLOUD

ADDRESS = f"http://127.0.0.1:{port(8940)}"


class ControllerError(RuntimeError):
    """The controller did not come alive; the text says how far it got."""


def status(seconds: float = 90) -> dict[str, Any]:
    """Return what the status page shows, as data.

    Raises:
        ControllerError: it has not answered for so many seconds.
    """
    token = (state_home() / "status-token").read_text().strip()
    headers, end = {"Authorization": f"Bearer {token}"}, time.monotonic() + seconds
    while True:
        try:
            answer = httpx.get(f"{ADDRESS}/status.json", headers=headers, timeout=20, trust_env=False)
            found: dict[str, Any] = answer.raise_for_status().json()
        except httpx.HTTPError as error:
            if time.monotonic() > end:
                text = f"the controller at {ADDRESS} has not answered for {seconds:.0f} s: {error}"
                raise ControllerError(text) from error
            time.sleep(1)
        else:
            return found


def ready() -> bool:
    """Whether it takes webhooks."""
    try:
        return httpx.get(f"{ADDRESS}/readyz", timeout=2, trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False


def boot(seconds: float = 600) -> Iterator[str]:
    """Yield the controller's boot phases as they pass until it is ready.

    Raises:
        ControllerError: it was not ready within `seconds`; what fails on the way is tried again by itself.
    """
    guest, seen, end = Guest(server_id("autoscaler")), 0, time.monotonic() + seconds
    while True:
        lines = _phases(guest)
        yield from lines[seen:]
        seen = len(lines)
        # The service answers a moment before the boot says that all is done.
        if any("phase=ready status=ok" in line for line in lines) and ready():
            return
        if time.monotonic() > end:
            last = lines[-1] if lines else "its boot has not begun"
            raise ControllerError(f"the controller was not ready within {seconds:.0f} s; last: {last}")
        time.sleep(0.5)


def _phases(guest: Guest) -> list[str]:
    text = guest.console.read_text(errors="replace") if guest.console.exists() else ""
    marked = [line for line in text.splitlines() if line.startswith("shadow-runner: ")]
    return [line.removeprefix("shadow-runner: ") for line in marked]


def server_id(name: str) -> str:
    """Return the ID of the dev tenant's server of that name."""
    with clouds.connect(TENANT_CLOUD) as connection:
        found = connection.compute.find_server(name, ignore_missing=False)
        return str(found.id)
