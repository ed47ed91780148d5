"""Reads systemd unit files: the parts of [Unit], [Service] and [Install] that the guests' services use."""

import shlex
from dataclasses import dataclass, field
from pathlib import Path

SEARCH = (
    Path("/etc/systemd/system"),
    Path("/run/systemd/system"),
    Path("/usr/local/lib/systemd/system"),
)
WANTS = Path("/etc/systemd/system/multi-user.target.wants")


class UnitError(Exception):
    """A unit is missing, masked or wrong; the text is what systemctl prints."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One service: every setting by its name, repeated settings in their order."""

    name: str
    path: Path
    settings: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def last(self, name: str, default: str = "") -> str:
        """The setting's last value."""
        return (self.settings.get(name) or [default])[-1]

    def names(self, *settings: str) -> list[str]:
        """Units named by list settings as Requires= or After=."""
        return [word for name in settings for text in self.settings.get(name, []) for word in text.split()]

    def commands(self, name: str) -> list[tuple[list[str], bool]]:
        """Command lines of an Exec setting and whether a failure of it is ignored (a leading `-`)."""
        found = [text.strip() for text in self.settings.get(name, []) if text.strip()]
        return [(shlex.split(text.lstrip("-@+!:")), text.startswith("-")) for text in found]

    def seconds(self, name: str, default: float) -> float:
        """A time span in seconds (`5`, `5s`, `500ms`, `2min`)."""
        text = self.last(name)
        units = {"ms": 0.001, "min": 60.0, "s": 1.0, "h": 3600.0}
        for suffix, factor in units.items():
            if text.endswith(suffix) and text.removesuffix(suffix).strip().replace(".", "", 1).isdigit():
                return float(text.removesuffix(suffix)) * factor
        return float(text) if text.replace(".", "", 1).isdigit() else default

    def environment(self) -> dict[str, str]:
        """Variables of Environment= and EnvironmentFile= (a leading `-` lets a missing file pass)."""
        words = [word for text in self.settings.get("Environment", []) for word in shlex.split(text)]
        for text in self.settings.get("EnvironmentFile", []):
            words += _file_words(text)
        return dict(word.split("=", 1) for word in words if "=" in word)


def full_name(name: str) -> str:
    """Unit name with its suffix."""
    return name if "." in name else f"{name}.service"


def load(name: str, search: tuple[Path, ...] = SEARCH) -> Unit:
    """Read a unit with its drop-ins.

    Raises:
        UnitError: there is none of that name, or it is masked.
    """
    name = full_name(name)
    path = next((folder / name for folder in search if (folder / name).exists()), None)
    masked = any((folder / name).is_symlink() and not (folder / name).is_file() for folder in search)
    if masked:
        raise UnitError(f"Unit {name} is masked.")
    if path is None:
        raise UnitError(f"Unit {name} not found.")
    settings = dict[str, list[str]]()
    for part in (
        path,
        *(drop for folder in search for drop in sorted((folder / f"{name}.d").glob("*.conf"))),
    ):
        _merge(settings, part.read_text())
    return Unit(name, path, settings)


def exists(name: str, search: tuple[Path, ...] = SEARCH) -> bool:
    """Whether there is a unit of that name."""
    return any((folder / full_name(name)).is_file() for folder in search)


def enabled(wants: Path = WANTS) -> list[str]:
    """Names of the services that start at boot."""
    return sorted(path.name for path in wants.glob("*.service"))


def _merge(settings: dict[str, list[str]], text: str) -> None:
    joined = text.replace("\\\n", " ")
    for line in (raw.strip() for raw in joined.splitlines()):
        key, equals, value = line.partition("=")
        if not equals or line.startswith(("#", ";", "[")):
            continue
        if value.strip():
            settings.setdefault(key.strip(), []).append(value.strip())
        else:
            settings[key.strip()] = []


def _file_words(text: str) -> list[str]:
    path = Path(text.removeprefix("-"))
    if not path.exists() and text.startswith("-"):
        return []
    lines = [line.strip() for line in path.read_text().splitlines()]
    return [
        f"{key}={' '.join(shlex.split(value))}"
        for key, _, value in (line.partition("=") for line in lines if line and line[0] not in "#;")
    ]
