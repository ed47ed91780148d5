"""Small programs about the machine itself: power, kernel modules, settings, host name, release."""

import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from localcloud.standins.systemctl import ask

_SYSCTL = Path("/run/sysctl")


def main(program: str, arguments: Sequence[str]) -> int:
    """Run the program of that name."""
    programs: dict[str, Callable[[Sequence[str]], int]] = {
        "shutdown": _shutdown,
        "poweroff": lambda _: _power("poweroff"),
        "halt": lambda _: _power("poweroff"),
        "reboot": lambda _: _power("reboot"),
        "modprobe": lambda _: 0,
        "sysctl": _sysctl,
        "hostnamectl": _hostnamectl,
        "lsb_release": _lsb_release,
        "systemd-detect-virt": lambda _: _say("kvm"),
    }
    return programs[program](arguments)


def _say(text: str) -> int:
    sys.stdout.write(f"{text}\n")
    return 0


def _power(wish: str) -> int:
    ask(wish)
    return 0


def _shutdown(arguments: Sequence[str]) -> int:
    if "-c" in arguments:
        return 0
    return _power("reboot" if "-r" in arguments else "poweroff")


def _sysctl(arguments: Sequence[str]) -> int:
    _SYSCTL.mkdir(parents=True, exist_ok=True)
    for word in (word for word in arguments if not word.startswith("-")):
        name, equals, value = word.partition("=")
        if equals:
            (_SYSCTL / name.strip()).write_text(value.strip())
        stored = _SYSCTL / name.strip()
        _say(f"{name.strip()} = {stored.read_text() if stored.exists() else 0}")
    return 0


def _hostnamectl(arguments: Sequence[str]) -> int:
    if arguments[:1] in (["set-hostname"], ["hostname"]) and len(arguments) > 1:
        Path("/etc/hostname").write_text(f"{arguments[1]}\n")
        socket.sethostname(arguments[1])
        return 0
    return _say(Path("/etc/hostname").read_text().strip())


def _lsb_release(arguments: Sequence[str]) -> int:
    pairs = (line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    release = {key: value.strip('"') for key, value in pairs}
    fields = {
        "i": ("Distributor ID", "Ubuntu"),
        "d": ("Description", release["PRETTY_NAME"]),
        "r": ("Release", release["VERSION_ID"]),
        "c": ("Codename", release["VERSION_CODENAME"]),
    }
    long = {
        "--all": "a",
        "--codename": "c",
        "--release": "r",
        "--id": "i",
        "--description": "d",
        "--short": "s",
    }
    arguments = [f"-{long[word]}" if word in long else word for word in arguments]
    letters = "".join(
        word.lstrip("-") for word in arguments if word.startswith("-") and not word.startswith("--")
    )
    for letter, (label, value) in fields.items():
        if letter in letters or "a" in letters:
            _say(value if "s" in letters else f"{label}:\t{value}")
    return 0
