"""Takes the engine's uniform resource names apart: `urn:pulumi:<stack>::<project>::<types>::<name>`."""


def name_of(urn: str) -> str:
    """Return the logical name, which may hold `::` itself; of a text that is no such name, its last part."""
    parts = urn.split("::", 3)
    return parts[3] if len(parts) == 4 else urn.rpartition("::")[2]
