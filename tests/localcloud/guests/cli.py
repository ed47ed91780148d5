"""Commands about guests: `ls`, `console`, `exec`, `reclaim`, `fault`."""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from localcloud.guests import gpus, reclaim, sandbox
from localcloud.guests.guest import Guest, all_guests, read_json
from localcloud.guests.metadata import DEFAULT_NOTICE_POINTER

_NSPID = "NSpid:"


class CommandError(Exception):
    """What the user asked for can't be done; the text says why and what to do."""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        prog="python -m localcloud.guests", description="Guests of the local cloud."
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("serve", help="run the guest agent (the default)")
    commands.add_parser("ls", help="list the guests")
    console = commands.add_parser("console", help="print a guest's console")
    console.add_argument("id")
    inside = commands.add_parser("exec", help="run a command inside a guest or one of its containers")
    inside.add_argument("--container", metavar="NAME", help="name or id of a container; `-` for the only one")
    inside.add_argument("--user", default="", help="user id to run as")
    inside.add_argument("id")
    inside.add_argument("arguments", nargs=argparse.REMAINDER)
    notice = commands.add_parser("reclaim", help="announce a spot reclaim by the metadata service")
    notice.add_argument("id")
    notice.add_argument("--in-seconds", type=float, default=900)
    notice.add_argument("--pointer", default=DEFAULT_NOTICE_POINTER, help="JSON pointer in meta_data.json")
    fault = commands.add_parser("fault", help=f"let the GPUs fail: {', '.join(gpus.FAULTS)}; '' repairs")
    fault.add_argument("id")
    fault.add_argument("name")
    return top


def run(arguments: argparse.Namespace) -> int:
    """Run one command; 2 where it can't be done."""
    try:
        return _run(arguments)
    except (CommandError, FileNotFoundError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2


def _run(arguments: argparse.Namespace) -> int:
    if arguments.command == "ls":
        return _list()
    guest = find(arguments.id)
    if arguments.command == "console":
        sys.stdout.write(guest.console.read_text(errors="replace"))
    elif arguments.command == "reclaim":
        reclaim(guest.id, arguments.in_seconds, arguments.pointer)
    elif arguments.command == "fault":
        guest.set_fault(arguments.name)
    elif arguments.command == "exec":
        words = arguments.arguments[1:] if arguments.arguments[:1] == ["--"] else arguments.arguments
        return subprocess.run(
            inside(guest, words, container=arguments.container, user=arguments.user), check=False
        ).returncode
    return 0


def _list() -> int:
    for guest in all_guests():
        report = read_json(guest.folder / "boot.json")
        state = "running" if guest.process() else "off"
        phase = f"{report.get('phase', '-')}/{report.get('status', '-')}"
        sys.stdout.write(
            f"{guest.id}  {guest.record().name:<32} {state:<8} boot {report.get('state', '-'):<8} {phase}\n"
        )
    return 0


def find(wanted: str) -> Guest:
    """The guest of a server id, of its beginning, or of a server's name.

    Raises:
        CommandError: there is none, or more than one.
    """
    found = [g for g in all_guests() if g.id.startswith(wanted) or g.record().name == wanted]
    if len(found) != 1:
        many = "more than one guest has" if found else "no guest has"
        raise CommandError(f"{many} id or name {wanted!r}: see `python -m localcloud.guests ls`.")
    return found[0]


def inside(guest: Guest, words: Sequence[str], *, container: str | None = None, user: str = "") -> list[str]:
    """Command line that runs a program inside a guest (or one of its containers) from outside.

    Raises:
        CommandError: the guest is off, or the container doesn't run.
    """
    process = guest.process()
    if process is None:
        raise CommandError(f"guest {guest.id} is off: its server must be ACTIVE.")
    words = list(words) or ["/bin/bash"]
    environment = {"SHADOW_METADATA_URL": f"http://127.0.0.1:{guest.record().port}"}
    pid = process.pid if container is None else _container_pid(guest, container)
    as_user = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups"] if user else []
    return sandbox.enter(pid, [*as_user, *words], environment)


def _container_pid(guest: Guest, wanted: str) -> int:
    records = [read_json(path) for path in (guest.root / "run/docker/containers").glob("*.json")]
    running = [
        r for r in records if r.get("pid") and (wanted in {"-", r["name"]} or r["id"].startswith(wanted))
    ]
    if len(running) != 1:
        names = ", ".join(str(r["name"]) for r in records if r.get("pid")) or "none"
        raise CommandError(f"guest {guest.id} runs no single container {wanted!r}; it runs: {names}.")
    return _outer_pid(int(running[0]["pid_namespace"]))


def _outer_pid(namespace: int) -> int:
    """Pid, as this machine sees it, of the process 1 of a pid namespace."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or sandbox.pid_namespace(int(entry.name)) != namespace:
            continue
        pids = next(
            line.split()[1:]
            for line in (entry / "status").read_text().splitlines()
            if line.startswith(_NSPID)
        )
        if pids[-1] == "1":
            return int(entry.name)
    raise CommandError("the container has just ended.")


def is_root() -> bool:
    """Whether this user may make sandboxes."""
    return os.geteuid() == 0
