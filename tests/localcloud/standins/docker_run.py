"""`docker run` and `docker exec`."""

import json
import os
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from localcloud.standins import containers, hardware, images
from localcloud.standins.containers import Container
from localcloud.standins.docker_options import Options, UsageError, parse
from localcloud.standins.init import METADATA_URL

DAEMON_JSON = Path("/run/docker/daemon.json")
"""The configuration with which the daemon was started."""
_RUNC = (
    "failed to create task for container: failed to create shim task: OCI runtime create failed: "
    "runc create failed: unable to start container process: "
)
_NO_GPU = _RUNC + (
    "error during container init: error running prestart hook #0: exit status 1, stdout: , stderr: "
    "Auto-detected mode as 'legacy'\n"
    "nvidia-container-cli: initialization error: nvml error: {reason}: unknown"
)


class Refused(Exception):  # noqa: N818 - it carries the daemon's words, not a fault of ours
    """The daemon refuses; docker's exit code and its words."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def run(words: Sequence[str]) -> int:
    """Run a container; its exit code, or 125-127 where it could not be started."""
    try:
        options = parse(words)
        container, image = _container(options)
        containers.build(container, image)
        _require_program(container)
    except (UsageError, OSError) as error:
        sys.stderr.write(f"docker: {error}\n\nRun 'docker run --help' for more information\n")
        return 125
    except Refused as refused:
        sys.stderr.write(f"docker: Error response from daemon: {refused}.\n")
        return refused.code
    container.save()
    if cidfile := options.last("cidfile"):
        Path(cidfile).write_text(container.id)
    if "detach" in options.flags:
        return _detached(container)
    return _attached(container, interactive="interactive" in options.flags)


def _container(options: Options) -> tuple[Container, images.Image]:
    if not options.rest:
        raise UsageError('"docker run" requires at least 1 argument.')
    reference, *command = options.rest
    image = _image(reference, options)
    gpus = _gpus(options, image)
    identity = containers.new_id()
    name = options.last("name") or f"brave_{secrets.token_hex(3)}"
    _require_free_name(name)
    entry = options.values.get("entrypoint")
    command = ([entry[-1]] if entry and entry[-1] else []) + command
    container = Container(
        id=identity,
        name=name,
        image=reference,
        command=command or list(image.command),
        network=options.last("network", "bridge"),
        gpus=gpus,
        user=options.last("user"),
        workdir=options.last("workdir", "/"),
        hostname=options.last("hostname"),
        remove="rm" in options.flags,
    )
    container.binds = [
        *map(_volume, options.values.get("volume", [])),
        *map(_mount, options.values.get("mount", [])),
    ]
    container.env = _environment(container, options, image)
    return container, image


def _image(reference: str, options: Options) -> images.Image:
    policy = options.last("pull", "missing")
    try:
        if reference in images.pulled() and policy != "always":
            return images.find(reference)
        if policy == "never":
            raise Refused(125, f"No such image: {reference}")
        if "quiet" not in options.flags:
            sys.stderr.write(f"Unable to find image '{reference}' locally\n")
        image = images.pull(reference)
    except images.ImageError as error:
        raise Refused(125, str(error)) from error
    sys.stderr.write(
        f"Status: Downloaded newer image for {reference}\n" if "quiet" not in options.flags else ""
    )
    return image


def _gpus(options: Options, image: images.Image) -> str:
    """Devices asked for; refuses as the daemon does where toolkit or driver can't give them."""
    asked = options.last("gpus")
    if not asked and options.last("runtime") == "nvidia" and image.cuda:
        asked = "all"
    if not asked:
        return ""
    if "nvidia" not in _daemon().get("runtimes", {}):
        raise Refused(125, 'could not select device driver "" with capabilities: [[gpu]]')
    gpus = hardware.read()
    kind = gpus.fault.partition(":")[0]
    late = kind == "late" and hardware.still_late(gpus.fault)
    if kind in {"container-only", "exit9", "missing"} or late or gpus.fitted == 0:
        raise Refused(125, _NO_GPU.format(reason="driver not loaded"))
    if kind == "driver-mismatch":
        raise Refused(125, _NO_GPU.format(reason="driver/library version mismatch"))
    return asked


def _daemon() -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = json.loads(DAEMON_JSON.read_text())
    return found


def _require_free_name(name: str) -> None:
    taken = containers.find(name)
    if taken and taken.name == name:
        raise Refused(
            125,
            f'Conflict. The container name "/{name}" is already in use by container "{taken.id}". '
            "You have to remove (or rename) that container to be able to reuse that name",
        )


def _volume(text: str) -> tuple[str, str, bool]:
    parts = text.split(":")
    if len(parts) == 1:
        return _named(secrets.token_hex(32)), parts[0], False
    source = parts[0] if parts[0].startswith("/") else _named(parts[0])
    if not Path(source).exists():
        Path(source).mkdir(parents=True)
    return source, parts[1], "ro" in parts[2:3]


def _named(name: str) -> str:
    folder = containers.VOLUMES / name / "_data"
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder)


def _mount(text: str) -> tuple[str, str, bool]:
    fields = {name: value for name, _, value in (part.partition("=") for part in text.split(","))}
    target = fields.get("target") or fields.get("dst") or fields["destination"]
    source = fields.get("source") or fields.get("src") or ""
    source = source if source.startswith("/") else _named(source or secrets.token_hex(32))
    return source, target, "readonly" in fields or "ro" in fields


def _environment(container: Container, options: Options, image: images.Image) -> dict[str, str]:
    env = {"PATH": containers.PATH, "HOSTNAME": container.hostname or container.id[:12], "HOME": "/root"}
    if METADATA_URL.exists():
        env["SHADOW_METADATA_URL"] = METADATA_URL.read_text()
    if image.cuda:
        env |= {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
    if container.gpus:
        devices = re.search(r"device=([^\"']+)", container.gpus)
        env["NVIDIA_VISIBLE_DEVICES"] = devices[1] if devices else "all"
    return env | options.environment(os.environ)


def _require_program(container: Container) -> None:
    program = container.command[0]
    if not containers.has_program(container, program):
        container.delete()
        raise Refused(127, f'{_RUNC}exec: "{program}": executable file not found in $PATH: unknown')


def _attached(container: Container, *, interactive: bool) -> int:
    process = containers.start(container, stdin=0 if interactive else subprocess.DEVNULL, output=None)

    def forward(number: int, _frame: object) -> None:
        with suppress(ProcessLookupError):
            os.kill(container.pid, number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, forward)
    return _finish(container, process.wait())


def _finish(container: Container, code: int) -> int:
    container.pid, container.exit_code = 0, code
    if container.remove:
        container.delete()
    else:
        container.save()
    return code if code >= 0 else 128 - code


def _detached(container: Container) -> int:
    """Print the id and leave a supervisor behind, which notes the container's end."""
    sys.stdout.write(f"{container.id}\n")
    sys.stdout.flush()
    reader, writer = os.pipe()
    if os.fork():
        os.close(writer)
        os.read(reader, 1)
        return 0
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    with container.log.open("ab") as log:
        process = containers.start(container, stdin=subprocess.DEVNULL, output=log.fileno())
    os.write(writer, b".")
    os.close(writer)
    _finish(container, process.wait())
    os._exit(0)


def execute(words: Sequence[str]) -> int:
    """`docker exec`."""
    try:
        options = parse(words)
    except UsageError as error:
        sys.stderr.write(f"docker: {error}\n")
        return 125
    container = containers.find(options.rest[0]) if options.rest else None
    if container is None or not container.running():
        name = options.rest[0] if options.rest else ""
        what = f"container {name} is not running" if container else f"No such container: {name}"
        sys.stderr.write(f"Error response from daemon: {what}\n")
        return 1
    program = options.rest[1]
    if not containers.has_program(container, program):
        sys.stderr.write(
            f'OCI runtime exec failed: exec failed: exec: "{program}": executable file not found\n'
        )
        return 127
    env = options.environment(os.environ)
    command = containers.enter(
        container, options.rest[1:], env, options.last("user"), options.last("workdir")
    )
    stdin = None if "interactive" in options.flags else subprocess.DEVNULL
    return subprocess.run(command, stdin=stdin, check=False).returncode
