"""Reads the options of `docker run` and `docker exec`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_VALUED = {
    "-v": "volume",
    "--volume": "volume",
    "-w": "workdir",
    "--workdir": "workdir",
    "-e": "env",
    "--env": "env",
    "--env-file": "env-file",
    "--entrypoint": "entrypoint",
    "--name": "name",
    "--network": "network",
    "--net": "network",
    "--pull": "pull",
    "-u": "user",
    "--user": "user",
    "--gpus": "gpus",
    "--device": "device",
    "-h": "hostname",
    "--hostname": "hostname",
    "--mount": "mount",
    "--runtime": "runtime",
    "-l": "label",
    "--label": "label",
    "-m": "ignored",
    "--memory": "ignored",
    "--cpus": "ignored",
    "--shm-size": "ignored",
    "--ipc": "ignored",
    "--pid": "ignored",
    "--ulimit": "ignored",
    "--restart": "ignored",
    "--security-opt": "ignored",
    "--cap-add": "ignored",
    "--cap-drop": "ignored",
    "--add-host": "ignored",
    "--dns": "ignored",
    "--log-driver": "ignored",
    "--platform": "ignored",
    "-p": "ignored",
    "--publish": "ignored",
    "--tmpfs": "ignored",
    "--stop-timeout": "ignored",
    "--cidfile": "cidfile",
}
_FLAGS = {
    "--rm": "rm",
    "-d": "detach",
    "--detach": "detach",
    "-i": "interactive",
    "--interactive": "interactive",
    "-t": "tty",
    "--tty": "tty",
    "--init": "init",
    "-q": "quiet",
    "--quiet": "quiet",
    "--privileged": "privileged",
    "--read-only": "read-only",
}


class UsageError(Exception):
    """The options can't be read; docker answers with exit code 125."""


@dataclass(slots=True)
class Options:
    """Options by their long names, then what follows them."""

    values: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    flags: set[str] = field(default_factory=set[str])
    rest: list[str] = field(default_factory=list[str])

    def last(self, name: str, default: str = "") -> str:
        """The last value given."""
        return (self.values.get(name) or [default])[-1]

    def environment(self, own: Mapping[str, str]) -> dict[str, str]:
        """Variables of `--env-file` and `-e`; a bare name takes its value from the caller."""
        lines = [
            line for path in self.values.get("env-file", []) for line in Path(path).read_text().splitlines()
        ]
        words = [line for line in lines if line and not line.startswith("#")] + self.values.get("env", [])
        pairs = [word.split("=", 1) if "=" in word else [word, own.get(word, "")] for word in words]
        return {name: value for name, value in pairs if name}


def parse(words: Sequence[str]) -> Options:
    """Options up to the first word that isn't one.

    Raises:
        UsageError: an unknown option, or one without its value.
    """
    options, left = Options(), list(words)
    while left and left[0].startswith("-") and left[0] != "-":
        _take(options, left)
    options.rest = left
    return options


def _take(options: Options, left: list[str]) -> None:
    word, equals, value = left.pop(0).partition("=")
    if word in _FLAGS:
        if value != "false":
            options.flags.add(_FLAGS[word])
    elif word in _VALUED:
        if not equals and not left:
            raise UsageError(f"flag needs an argument: {word}")
        options.values.setdefault(_VALUED[word], []).append(value if equals else left.pop(0))
    elif not word.startswith("--") and all(f"-{letter}" in _FLAGS for letter in word[1:]):
        options.flags |= {_FLAGS[f"-{letter}"] for letter in word[1:]}
    elif word[:2] in _VALUED and not word.startswith("--"):
        options.values.setdefault(_VALUED[word[:2]], []).append(word[2:] + equals + value)
    else:
        raise UsageError(f"unknown flag: {word}")
