"""`docker`: the client's commands over the guest's containers."""

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from localcloud.standins import containers, images
from localcloud.standins.containers import Container
from localcloud.standins.docker_run import execute, run

DAEMON_SOCKET = Path("/run/docker.sock")
VERSION = "27.3.1"
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.05


def main(_program: str, arguments: Sequence[str]) -> int:
    """Run one command of the client."""
    words = list(arguments)
    while words and words[0] in {"-H", "--host", "--config", "--context", "-l", "--log-level"}:
        del words[:2]
    if not words or words[0] in {"--version", "-v"}:
        sys.stdout.write(f"Docker version {VERSION}, build ce12230\n")
        return 0
    if words[0] in _GROUPS and len(words) > 1:
        words = [_GROUPS[words[0]].get(words[1], f"{words[0]} {words[1]}"), *words[2:]]
    command = _COMMANDS.get(words[0])
    if command is None:
        sys.stderr.write(f"docker: '{words[0]}' is not a docker command.\nSee 'docker --help'\n")
        return 1
    if not _daemon_answers():
        sys.stderr.write(
            "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. "
            "Is the docker daemon running?\n"
        )
        return 125 if words[0] == "run" else 1
    return command(words[1:])


def _daemon_answers() -> bool:
    with socket.socket(socket.AF_UNIX) as channel:
        return channel.connect_ex(str(DAEMON_SOCKET)) == 0


def _names(words: Sequence[str]) -> list[str]:
    valued = {"-t", "--time", "-s", "--signal", "-f", "--format", "--filter", "-n", "--tail", "-u", "-p"}
    return [
        w for i, w in enumerate(words) if not w.startswith("-") and (i == 0 or words[i - 1] not in valued)
    ]


def _value(words: Sequence[str], *options: str) -> str:
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in options:
            return value if equals else next(iter(words[index + 1 :]), "")
    return ""


def _refuse(text: str, code: int = 1) -> int:
    sys.stderr.write(f"Error response from daemon: {text}\n")
    return code


def _pull(words: Sequence[str]) -> int:
    quiet = bool({"-q", "--quiet"} & set(words))
    reference = _names(words)[-1]
    try:
        images.pull(reference)
    except images.ImageError as error:
        return _refuse(str(error))
    repository, tag = images.split(reference)
    lines = [
        f"{tag}: Pulling from {repository}",
        f"Status: Downloaded newer image for {reference}",
        reference,
    ]
    sys.stdout.write("\n".join(lines[2:] if quiet else lines) + "\n")
    return 0


def _images(words: Sequence[str]) -> int:
    if {"-q", "--quiet"} & set(words):
        lines = [f"{abs(hash(name)):012x}"[:12] for name in images.pulled()]
    else:
        lines = ["REPOSITORY   TAG   IMAGE ID"] + ["   ".join(images.split(name)) for name in images.pulled()]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def _image_inspect(words: Sequence[str]) -> int:
    missing = [name for name in _names(words) if name not in images.pulled()]
    if missing:
        sys.stdout.write("[]\n")
        return _refuse(f"No such image: {missing[0]}")
    sys.stdout.write(f'[{{"RepoTags": ["{_names(words)[0]}"]}}]\n')
    return 0


def _remove_images(words: Sequence[str]) -> int:
    return max(
        (0 if images.forget(name) else _refuse(f"No such image: {name}") for name in _names(words)), default=1
    )


def _info(words: Sequence[str]) -> int:
    running = sum(c.running() for c in containers.all_containers())
    runtimes = "io.containerd.runc.v2 runc"
    if "nvidia" in Path("/run/docker/daemon.json").read_text():
        runtimes = f"nvidia {runtimes}"
    if wanted := _value(words, "-f", "--format"):
        known = {
            "{{.ServerVersion}}": VERSION,
            "{{.Runtimes}}": f"map[{runtimes}]",
            "{{.CgroupDriver}}": "systemd",
        }
        sys.stdout.write(f"{known.get(wanted, '')}\n")
        return 0
    sys.stdout.write(
        f"Server:\n Containers: {len(containers.all_containers())}\n  Running: {running}\n"
        f" Images: {len(images.pulled())}\n Server Version: {VERSION}\n Runtimes: {runtimes}\n"
        " Default Runtime: runc\n Cgroup Driver: systemd\n"
    )
    return 0


def _version(words: Sequence[str]) -> int:
    wanted = _value(words, "-f", "--format")
    sys.stdout.write(
        f"{VERSION}\n" if wanted else f"Client:\n Version: {VERSION}\nServer:\n Version: {VERSION}\n"
    )
    return 0


def _ps(words: Sequence[str]) -> int:
    everything = bool({"-a", "--all", "-aq", "-qa"} & set(words))
    wanted = _value(words, "--filter", "-f").removeprefix("name=")
    shown = [c for c in containers.all_containers() if (everything or c.running()) and wanted in c.name]
    if {"-q", "--quiet", "-aq", "-qa"} & set(words):
        sys.stdout.write("".join(f"{c.id[:12]}\n" for c in shown))
    elif form := _value(words, "--format"):
        sys.stdout.write("".join(f"{_formatted(c, form)}\n" for c in shown))
    else:
        rows = ["CONTAINER ID   IMAGE   STATUS   NAMES"]
        rows += [f"{c.id[:12]}   {c.image}   {_state(c)}   {c.name}" for c in shown]
        sys.stdout.write("".join(f"{row}\n" for row in rows))
    return 0


def _state(container: Container) -> str:
    return "running" if container.running() else "exited"


def _formatted(container: Container, form: str) -> str:
    code = container.exit_code or 0
    fields = {
        "ID": container.id[:12],
        "Names": container.name,
        "Name": f"/{container.name}",
        "Image": container.image,
        "Status": "Up" if container.running() else f"Exited ({code})",
        "State": _state(container),
        "State.Status": _state(container),
        "State.Running": str(container.running()).lower(),
        "State.ExitCode": str(code),
        "State.Pid": str(container.pid),
    }
    for name, value in fields.items():
        form = form.replace(f"{{{{.{name}}}}}", value)
    return form


def _each(words: Sequence[str], act: Callable[[Container], int]) -> int:
    worst = 0
    for name in _names(words):
        container = containers.find(name)
        code = act(container) if container else _refuse(f"No such container: {name}")
        if code == 0:
            sys.stdout.write(f"{name}\n")
        worst = max(worst, code)
    return worst


def _kill(words: Sequence[str]) -> int:
    text = _value(words, "-s", "--signal") or "KILL"
    number = signal.Signals(int(text)) if text.isdigit() else signal.Signals[f"SIG{text.removeprefix('SIG')}"]

    def act(container: Container) -> int:
        if not container.running():
            return _refuse(
                f"cannot kill container: {container.name}: container {container.id} is not running"
            )
        _signal(container, number)
        return 0

    return _each(words, act)


def _signal(container: Container, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(container.pid, number)


def _gone(container: Container, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while container.running() and time.monotonic() < end:
        time.sleep(_POLL_SECONDS)
    return not container.running()


def _stop(words: Sequence[str]) -> int:
    seconds = float(_value(words, "-t", "--time") or _STOP_SECONDS)

    def act(container: Container) -> int:
        _signal(container, signal.SIGTERM)
        if not _gone(container, seconds):
            _signal(container, signal.SIGKILL)
            _gone(container, _STOP_SECONDS)
        return 0

    return _each(words, act)


def _remove(words: Sequence[str]) -> int:
    force = any(w in {"-f", "--force"} or (w.startswith("-") and "f" in w and w[:2] != "--") for w in words)

    def act(container: Container) -> int:
        if container.running():
            if not force:
                return _refuse(f'cannot remove container "/{container.name}": container is running')
            _signal(container, signal.SIGKILL)
            _gone(container, _STOP_SECONDS)
        container.delete()
        return 0

    names = [w for w in words if not w.startswith("-")]
    return _each([n for n in names if containers.find(n)] if force else names, act)


def _logs(words: Sequence[str]) -> int:
    def act(container: Container) -> int:
        if container.log.exists():
            sys.stdout.write(container.log.read_text(errors="replace"))
        return 2

    return 0 if _each(words, act) == 2 else 1


def _inspect(words: Sequence[str]) -> int:
    form = _value(words, "-f", "--format") or '[{"Id": "{{.ID}}", "Name": "{{.Name}}"}]'
    for name in _names(words):
        container = containers.find(name)
        if container is None:
            return _refuse(f"No such object: {name}")
        sys.stdout.write(f"{_formatted(container, form)}\n")
    return 0


def _login(words: Sequence[str]) -> int:
    if "--password-stdin" in words:
        sys.stdin.read()
    sys.stdout.write("Login Succeeded\n")
    return 0


def _accepted(words: Sequence[str]) -> int:
    names = _names(words)
    sys.stdout.write(f"{names[-1]}\n" if names else "")
    return 0


def _volume_create(words: Sequence[str]) -> int:
    for name in _names(words)[-1:]:
        (containers.VOLUMES / name / "_data").mkdir(parents=True, exist_ok=True)
    return _accepted(words)


_GROUPS: dict[str, dict[str, str]] = {
    "container": {n: n for n in ("run", "exec", "ls", "rm", "stop", "kill", "inspect", "logs")}
    | {"list": "ls"},
    "image": {"pull": "pull", "ls": "images", "rm": "rmi", "inspect": "image-inspect", "prune": "accepted"},
    "network": dict.fromkeys(("create", "rm", "inspect", "ls", "prune"), "accepted"),
    "volume": {"create": "volume-create"} | dict.fromkeys(("rm", "ls", "inspect", "prune"), "accepted"),
    "system": {"info": "info", "prune": "accepted"},
}
_COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "run": run,
    "exec": execute,
    "pull": _pull,
    "images": _images,
    "image-inspect": _image_inspect,
    "rmi": _remove_images,
    "info": _info,
    "version": _version,
    "ps": _ps,
    "ls": _ps,
    "kill": _kill,
    "stop": _stop,
    "rm": _remove,
    "logs": _logs,
    "inspect": _inspect,
    "login": _login,
    "logout": _accepted,
    "accepted": _accepted,
    "volume-create": _volume_create,
}
