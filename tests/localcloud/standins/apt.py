"""`apt-get`, `apt`, `apt-cache` and `apt-mark`: sources, keys, lists, pins and the real program's errors."""

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from localcloud.standins import packages
from localcloud.standins.systemctl import main as systemctl

_ETC = Path("/etc/apt")
_LISTS = Path("/var/lib/apt/lists")
_HOLDS = Path("/var/lib/apt/holds")
_VALUED = frozenset({"-o", "--option", "-t", "--target-release", "-c"})
_DISTRIBUTION = "http://archive.ubuntu.com/ubuntu"


@dataclass(frozen=True, slots=True)
class Source:
    """One configured repository and the key file it must be signed with, if it names one."""

    uri: str
    key: str


def main(program: str, arguments: Sequence[str]) -> int:
    """Run one command."""
    words = [
        word
        for i, word in enumerate(arguments)
        if not word.startswith("-") and (i == 0 or arguments[i - 1] not in _VALUED)
    ]
    if program == "apt-mark":
        return _mark(words)
    commands: dict[str, Callable[[list[str]], int]] = {
        "update": lambda _: _update(),
        "install": _install,
        "remove": _remove,
        "purge": _remove,
        "policy": _policy,
        "madison": _policy,
        "show": _policy,
        "upgrade": lambda _: 0,
        "dist-upgrade": lambda _: 0,
        "full-upgrade": lambda _: 0,
        "autoremove": lambda _: 0,
        "clean": lambda _: 0,
        "autoclean": lambda _: 0,
    }
    if not words or words[0] not in commands:
        return _error(f"Invalid operation {words[0] if words else ''}")
    return commands[words[0]](words[1:])


def _error(*lines: str) -> int:
    sys.stderr.write("".join(f"E: {line}\n" for line in lines))
    return 100


def sources() -> list[Source]:
    """Every configured repository besides the distribution's own."""
    found = list[Source]()
    for path in (_ETC / "sources.list", *sorted((_ETC / "sources.list.d").glob("*.list"))):
        found += [_one_line(line) for line in _lines(path) if line.startswith("deb ")]
    for path in sorted((_ETC / "sources.list.d").glob("*.sources")):
        found += [_stanza(part) for part in path.read_text().split("\n\n") if "URIs:" in part]
    return found


def _lines(path: Path) -> list[str]:
    return [line.strip() for line in path.read_text().splitlines()] if path.exists() else []


def _one_line(line: str) -> Source:
    key = re.search(r"signed-by=([^\s\]]+)", line)
    uri = re.search(r"\S+://\S+", line)
    return Source(uri[0] if uri else "", key[1] if key else "")


def _stanza(text: str) -> Source:
    fields = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in text.splitlines())}
    return Source(fields["uris"].split()[0], fields.get("signed-by", ""))


def _update() -> int:
    _LISTS.mkdir(parents=True, exist_ok=True)
    bad = list[str]()
    lines = [f"Hit:1 {_DISTRIBUTION} jammy InRelease"]
    for number, source in enumerate(sources(), 2):
        if source.key.startswith("/") and not Path(source.key).exists():
            bad.append(f"The repository '{source.uri} InRelease' is not signed.")
            sys.stderr.write(
                f"W: GPG error: {source.uri} InRelease: The following signatures couldn't be verified "
                "because the public key is not available: NO_PUBKEY\n"
            )
            continue
        lines.append(f"Get:{number} {source.uri} InRelease")
        (_LISTS / re.sub(r"\W+", "_", source.uri)).write_text(source.uri)
    (_LISTS / "distribution").write_text(_DISTRIBUTION)
    sys.stdout.write("\n".join([*lines, "Reading package lists...", ""]))
    return _error(*bad) if bad else 0


def _available(package: packages.Package) -> bool:
    known = [path.read_text() for path in _LISTS.glob("*")] if _LISTS.exists() else []
    if not package.source:
        return bool(known)
    return any(package.source in uri for uri in known if uri != _DISTRIBUTION)


def _install(words: list[str]) -> int:
    wanted = [word.partition("=")[::2] for word in words]
    errors = list[str]()
    chosen = dict[str, tuple[packages.Package, str]]()
    for name, version in wanted:
        package = packages.find(name.partition(":")[0])
        if package is None or not (_available(package) or package.name in packages.installed()):
            errors.append(f"Unable to locate package {name}")
        elif not packages.accepts(package, version):
            errors.append(f"Version '{version}' for '{name}' was not found")
        else:
            chosen |= {need.name: (need, "") for n in package.needs if (need := packages.find(n))}
            chosen[package.name] = (package, version)
    if errors:
        return _error(*errors)
    sys.stdout.write("Reading package lists...\nBuilding dependency tree...\n")
    return _put_in(list(chosen.values()))


def _put_in(chosen: list[tuple[packages.Package, str]]) -> int:
    have = packages.installed()
    held = _holds()
    fresh = [
        (p, v) for p, v in chosen if p.name not in have or (v and v != have[p.name] and p.name not in held)
    ]
    sys.stdout.write(f"0 upgraded, {len(fresh)} newly installed, 0 to remove.\n")
    for package, version in fresh:
        sys.stdout.write(f"Setting up {package.name} ({version or package.version}) ...\n")
        packages.put_in(package, version)
    sys.stdout.flush()
    for package, _ in fresh:
        if package.unit and not Path("/.dockerenv").exists():
            _start(package.unit)
    return 0


def _start(unit: str) -> None:
    """What the package's own script does after unpacking: enable and start its service."""
    systemctl("systemctl", ["enable", "--now", "--quiet", unit])


def _remove(words: list[str]) -> int:
    for name in words:
        package = packages.find(name)
        if package and package.unit:
            systemctl("systemctl", ["disable", "--now", "--quiet", package.unit])
        if packages.take_out(name):
            sys.stdout.write(f"Removing {name} ...\n")
        elif package is None:
            return _error(f"Unable to locate package {name}")
    return 0


def _policy(words: list[str]) -> int:
    for name in words:
        package = packages.find(name)
        if package is None:
            continue
        have = packages.installed().get(name, "(none)")
        candidate = package.version if _available(package) else have
        sys.stdout.write(f"{name}:\n  Installed: {have}\n  Candidate: {candidate}\n")
    return 0


def _holds() -> list[str]:
    return _HOLDS.read_text().split() if _HOLDS.exists() else []


def _mark(words: list[str]) -> int:
    verb, names = (words[0] if words else ""), words[1:]
    held = _holds()
    if verb == "showhold":
        sys.stdout.write("".join(f"{name}\n" for name in held))
        return 0
    if verb not in {"hold", "unhold", "manual", "auto"}:
        return _error(f"Invalid operation {verb}")
    missing = [name for name in names if name not in packages.installed()]
    if missing:
        return _error(*(f"Unable to locate package {name}" for name in missing))
    kept = [n for n in held if n not in names] + (names if verb == "hold" else [])
    _HOLDS.parent.mkdir(parents=True, exist_ok=True)
    _HOLDS.write_text("\n".join(kept))
    sys.stdout.write("".join(f"{name} set on {verb}.\n" for name in names))
    return 0
