"""Guest agent: plays the boot of every ACTIVE server from its own user-data, in a sandbox on this machine."""

from datetime import UTC, datetime, timedelta

from localcloud.guests.guest import Guest
from localcloud.guests.metadata import DEFAULT_NOTICE_POINTER


def reclaim(server_id: str, in_seconds: float = 900, pointer: str = DEFAULT_NOTICE_POINTER) -> None:
    """Announce to a spot server, by its metadata service, that it ends in so many seconds.

    Raises:
        FileNotFoundError: the server has no guest.
    """
    Guest(server_id).announce(datetime.now(UTC) + timedelta(seconds=in_seconds), pointer)
