"""`systemctl` and `systemd-run`: ask the guest's init; enabling is a link, as with the real one."""

import json
import os
import shlex
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from localcloud.standins import units
from localcloud.standins.init import SOCKET

_UNITS = Path("/etc/systemd/system")
_STATE_CODES = {"active": 0, "reloading": 0, "inactive": 3, "failed": 3, "activating": 3, "deactivating": 3}


def ask(verb: str, unit: str = "", **more: object) -> dict[str, Any]:
    """One request to init and its answer; `error` is empty where it went well."""
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(str(SOCKET))
        channel.sendall(json.dumps({"verb": verb, "unit": unit, **more}).encode())
        parts = list[bytes]()
        while part := channel.recv(65536):
            parts.append(part)
    answer: dict[str, Any] = json.loads(b"".join(parts))
    return answer


def main(program: str, arguments: Sequence[str]) -> int:
    """Run one command over all units named; the worst exit code wins."""
    if program == "systemd-run":
        return _run(list(arguments))
    flags = {word for word in arguments if word.startswith("-")}
    words = [word for word in arguments if not word.startswith("-")]
    if not words:
        sys.stderr.write("systemctl: this guest lists no units; name a command and a unit.\n")
        return 1
    verb, names = words[0], words[1:]
    if verb == "show":
        return _show(names, arguments)
    if verb in {"daemon-reload", "daemon-reexec", "poweroff", "reboot", "halt", "reset-failed"}:
        return _system(verb)
    act = _VERBS.get(verb)
    if act is None:
        sys.stderr.write(f"Unknown command verb {verb}.\n")
        return 1
    return max((_guarded(act, name, flags) for name in names), default=1)


def _guarded(act: Callable[[str, set[str]], int], name: str, flags: set[str]) -> int:
    try:
        return act(name, flags)
    except units.UnitError as error:
        sys.stderr.write(f"{error}\n")
        return 4 if act is _is_active else 1


def _system(verb: str) -> int:
    if verb == "reset-failed":
        return 0
    ask({"daemon-reexec": "daemon-reload", "halt": "poweroff"}.get(verb, verb))
    return 0


def _simple(verb: str) -> Callable[[str, set[str]], int]:
    def act(name: str, flags: set[str]) -> int:
        error = ask(verb, name)["error"]
        if error and "--quiet" not in flags and "-q" not in flags:
            sys.stderr.write(
                f"Failed to {verb} {units.full_name(name)}: {error}\n" if "Job" not in error else f"{error}\n"
            )
        return (5 if "not found" in error else 1) if error else 0

    return act


def _restart_if_active(name: str, flags: set[str]) -> int:
    return _simple("restart")(name, flags) if ask("status", name).get("active") == "active" else 0


def _reload(name: str, _flags: set[str]) -> int:
    return 1 if ask("kill", name, signal=int(signal.SIGHUP))["error"] else 0


def _enable(name: str, flags: set[str]) -> int:
    unit = units.load(name)
    link = units.WANTS / unit.name
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(unit.path)
        sys.stderr.write(f"Created symlink {link} → {unit.path}.\n")
    return _simple("start")(name, flags) if "--now" in flags else 0


def _disable(name: str, flags: set[str]) -> int:
    link = units.WANTS / units.full_name(name)
    if link.is_symlink():
        link.unlink()
        sys.stderr.write(f"Removed {link}.\n")
    return _simple("stop")(name, flags) if "--now" in flags else 0


def _mask(name: str, flags: set[str]) -> int:
    link = _UNITS / units.full_name(name)
    if link.exists() and not link.is_symlink():
        sys.stderr.write(f"Failed to mask unit: File {link} already exists.\n")
        return 1
    stopped = _simple("stop")(name, flags | {"-q"}) if "--now" in flags else 0
    if not link.is_symlink():
        link.symlink_to("/dev/null")
        sys.stderr.write(f"Created symlink {link} → /dev/null.\n")
    return 0 if stopped in {0, 5} else stopped


def _unmask(name: str, _flags: set[str]) -> int:
    link = _UNITS / units.full_name(name)
    if link.is_symlink() and str(link.readlink()) == "/dev/null":
        link.unlink()
        sys.stderr.write(f"Removed {link}.\n")
    return 0


def _is_active(name: str, flags: set[str]) -> int:
    state = ask("status", name).get("active") or "inactive"
    if not flags & {"--quiet", "-q"}:
        sys.stdout.write(f"{state}\n")
    return _STATE_CODES[state]


def _is_failed(name: str, flags: set[str]) -> int:
    state = ask("status", name).get("active") or "inactive"
    if not flags & {"--quiet", "-q"}:
        sys.stdout.write(f"{state}\n")
    return 0 if state == "failed" else 1


def _is_enabled(name: str, flags: set[str]) -> int:
    unit = units.load(name)
    on = (units.WANTS / unit.name).is_symlink()
    if not flags & {"--quiet", "-q"}:
        sys.stdout.write("enabled\n" if on else "disabled\n")
    return 0 if on else 1


def _status(name: str, _flags: set[str]) -> int:
    answer = ask("status", name)
    if answer["error"]:
        raise units.UnitError(answer["error"])
    sys.stdout.write(f"● {units.full_name(name)}\n     Active: {answer['active']} ({answer['result']})\n")
    if answer["pid"]:
        sys.stdout.write(f"   Main PID: {answer['pid']}\n")
    return _STATE_CODES[answer["active"]]


def _cat(name: str, _flags: set[str]) -> int:
    path = units.load(name).path
    sys.stdout.write(f"# {path}\n{path.read_text()}")
    return 0


def _show(names: Sequence[str], arguments: Sequence[str]) -> int:
    asked = [a.partition("=")[2] for a in arguments if a.startswith(("--property=", "-p="))]
    asked += [arguments[i + 1] for i, a in enumerate(arguments[:-1]) if a in {"-p", "--property"}]
    names = [name for name in names if name not in asked]
    wanted = {name for text in asked for name in text.split(",")}
    answer = ask("status", names[0]) if names else {"error": "no unit"}
    lost = bool(answer["error"])
    values = {
        "LoadState": "not-found" if lost else "loaded",
        "ActiveState": answer.get("active", "inactive"),
        "Result": answer.get("result", "success"),
        "MainPID": answer.get("pid", 0),
        "ExecMainStatus": answer.get("exit_code", 0),
    }
    bare = "--value" in arguments
    shown = [(key, value) for key, value in values.items() if not wanted or key in wanted]
    sys.stdout.write("".join(f"{value}\n" if bare else f"{key}={value}\n" for key, value in shown))
    return 0


def _run(arguments: list[str]) -> int:
    """Write a transient unit and start it (`--unit`, `--property`, `--setenv`)."""
    name, settings = f"run-{os.getpid()}", list[str]()
    while arguments and arguments[0].startswith("-"):
        option, _, value = arguments.pop(0).partition("=")
        if option in {"--unit", "-u", "-p", "--property", "-E", "--setenv"} and not value:
            value = arguments.pop(0)
        if option in {"--unit", "-u"}:
            name = value
        elif option in {"-p", "--property"}:
            settings.append(value)
        elif option in {"-E", "--setenv"}:
            settings.append(f"Environment={value}")
    path = Path("/run/systemd/system") / units.full_name(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["[Service]", *settings, f"ExecStart={shlex.join(arguments)}", ""]))
    sys.stderr.write(f"Running as unit: {units.full_name(name)}\n")
    return _simple("start")(name, set())


_VERBS: dict[str, Callable[[str, set[str]], int]] = {
    "start": _simple("start"),
    "stop": _simple("stop"),
    "restart": _simple("restart"),
    "try-restart": _restart_if_active,
    "reload-or-restart": _simple("restart"),
    "reload": _reload,
    "kill": _simple("kill"),
    "enable": _enable,
    "reenable": _enable,
    "disable": _disable,
    "mask": _mask,
    "unmask": _unmask,
    "is-active": _is_active,
    "is-failed": _is_failed,
    "is-enabled": _is_enabled,
    "status": _status,
    "cat": _cat,
}
