"""Shadow's regions: independent clouds, each with credentials and quotas of its own."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Region:
    """One region. There is no endpoint that covers several."""

    name: str
    """Name in OpenStack, for example `FRSBG01`."""

    city: str
    """Where it stands."""

    @property
    def auth_url(self) -> str:
        """Address of the region's identity service."""
        return f"https://auth.{self.name.lower()}.os.shadow.tech/v3"


REGIONS: tuple[Region, ...] = (
    Region("FRSBG01", "Strasbourg"),
    Region("FRSBG02", "Strasbourg"),
    Region("FRDUN02", "Dunkirk"),
    Region("DEFRA01", "Frankfurt"),
    Region("USWDC01", "Washington"),
    Region("USPOR01", "Portland"),
    Region("CAMTL01", "Montréal"),
)
"""Every public region (read 2026-11-30)."""


def region(name: str) -> Region:
    """Return the region called `name`, in any case; raises `KeyError` with the names there are."""
    known = {item.name: item for item in REGIONS}
    if name.upper() not in known:
        raise KeyError(f"region {name!r} is not one of Shadow's: {', '.join(known)}")
    return known[name.upper()]
