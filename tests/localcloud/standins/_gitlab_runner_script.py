"""The shell script that a job's container reads from its standard input."""

import re
import shlex
from collections.abc import Sequence
from typing import Any

REFERENCE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
Variables = dict[str, dict[str, Any]]


def collect(*sources: Sequence[dict[str, Any]]) -> Variables:
    """Variables by name; later ones win."""
    return {item["key"]: item for source in sources for item in source}


def expanded(variables: Variables) -> dict[str, str]:
    """Values with references to other variables replaced, as far as they aren't raw or files."""
    values = {key: str(item["value"]) for key, item in variables.items()}
    for _ in range(10):
        before = dict(values)
        for key, item in variables.items():
            if not item.get("raw") and not item.get("file"):
                values[key] = expand(before[key], before, own=key)
        if values == before:
            break
    return values


def expand(text: str, values: dict[str, str], own: str = "") -> str:
    """Replace references; unknown names become nothing, a reference to itself too."""

    def value(match: re.Match[str]) -> str:
        name = match.group(1) or match.group(2)
        return "" if name == own else values.get(name, "")

    return REFERENCE.sub(value, text)


def build(values: dict[str, str], lines: Sequence[str], folder: str) -> str:
    """A script that sets the variables, enters the project and runs the lines, each shown before.

    The shell reads all of it before it starts, so a command that reads standard input can't swallow it.
    """
    exports = [f"export {key}={shlex.quote(value)}" for key, value in values.items()]
    head = [
        "set -e",
        "(set -o pipefail) 2>/dev/null && set -o pipefail",
        *exports,
        f"cd {shlex.quote(folder)}",
    ]
    body = "\n".join([*head, *(_shown(line) for line in lines)])
    return f"eval {shlex.quote(body)} </dev/null\n"


def _shown(line: str) -> str:
    first, _, rest = line.strip().partition("\n")
    note = f"$ {first}" + (" # collapsed multi-line command" if rest else "")
    text = f"\x1b[32;1m{note}\x1b[0;m"
    return f"printf '%s\\n' {shlex.quote(text)}\n{line}"
