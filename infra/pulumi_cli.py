"""Calls the `pulumi` command on a stack of the current project."""

import subprocess


class EngineError(RuntimeError):
    """The `pulumi` command failed; the text is its own."""


def pulumi(*arguments: str) -> str:
    """Run `pulumi` and return what it printed; raises `EngineError`."""
    command = ["pulumi", *arguments, "--non-interactive"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EngineError(f"`{' '.join(command[:3])}` failed:\n{done.stderr or done.stdout}".strip())
    return done.stdout


def cloud(stack: str) -> str:
    """Return the entry of clouds.yaml that the stack names."""
    try:
        return pulumi("config", "get", "cloud", "--stack", stack).strip()
    except EngineError:
        return "shadow"  # the default of Pulumi.yaml, which `config get` does not know
