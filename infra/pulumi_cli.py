"""Calls the `pulumi` command on a stack of the current project."""

import json
import subprocess
from pathlib import Path
from typing import Any

import yaml


class EngineError(RuntimeError):
    """The `pulumi` command failed; the text is its own."""


def pulumi(*arguments: str) -> str:
    """Run `pulumi` and return what it printed; raises `EngineError`."""
    command = ["pulumi", *arguments, "--non-interactive"]
    done = run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise EngineError(f"`{' '.join(command[:3])}` failed:\n{done.stderr or done.stdout}".strip())
    return done.stdout


def run(command: list[str], **streams: int) -> subprocess.CompletedProcess[str]:
    """Run a `pulumi` command, whatever its exit code; raises `EngineError` when it can't be started."""
    try:
        return subprocess.run(command, text=True, check=False, **streams)  # type: ignore[call-overload, no-any-return]
    except OSError as error:
        raise EngineError(
            f"`{command[0]}` cannot be started: {error.strerror}; put the engine on PATH:"
            ' eval "$(scripts/engine --env)"'
        ) from None


def pulumi_json(*arguments: str) -> Any:
    """Run `pulumi` and return the JSON that it printed; raises `EngineError`."""
    text = pulumi(*arguments)
    try:
        return json.loads(text)
    except ValueError as error:
        raise EngineError(
            f"`pulumi {' '.join(arguments[:2])}` printed no JSON ({error}); check that `pulumi` on PATH is"
            " the real one, and that the value is one"
        ) from None


def cloud(stack: str) -> str:
    """Return the entry of clouds.yaml that the stack names."""
    try:
        return pulumi("config", "get", "cloud", "--stack", stack).strip()
    except EngineError:
        return "shadow"  # the default of Pulumi.yaml, which `config get` does not know


def project() -> str:
    """Return the name of the project in whose folder, or below it, this runs."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        for name in ("Pulumi.yaml", "Pulumi.yml"):
            if (folder / name).is_file():
                return str(yaml.safe_load((folder / name).read_text(encoding="utf-8"))["name"])
    raise EngineError("there is no Pulumi.yaml here or above; change to the project's folder")
