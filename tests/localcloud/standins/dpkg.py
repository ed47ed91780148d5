"""`dpkg` and `dpkg-query`: architecture, installed packages."""

import fnmatch
import sys
from collections.abc import Sequence

from localcloud.standins import packages


def main(program: str, arguments: Sequence[str]) -> int:
    """Answer the questions that scripts ask."""
    words = list(arguments)
    if "--print-architecture" in words:
        sys.stdout.write("amd64\n")
        return 0
    if words[:1] in (["-s"], ["--status"]):
        return _status(words[1:])
    if words[:1] in (["-W"], ["--show"], ["-l"], ["--list"]):
        return _show(program, words)
    if words[:1] in (["--configure"], ["--add-architecture"]):
        return 0
    sys.stderr.write(f"{program}: error: this guest installs packages with apt-get only\n")
    return 2


def _status(names: Sequence[str]) -> int:
    have = packages.installed()
    for name in names:
        if name not in have:
            sys.stderr.write(
                f"dpkg-query: package '{name}' is not installed and no information is available\n"
            )
            return 1
        sys.stdout.write(f"Package: {name}\nStatus: install ok installed\nVersion: {have[name]}\n")
    return 0


def _show(program: str, words: list[str]) -> int:
    form = "${Package}\\t${Version}\\n"
    names = list[str]()
    left = words[1:]
    while left:
        word = left.pop(0)
        if word in {"-f", "--showformat"}:
            form = left.pop(0)
        elif word.startswith(("-f=", "-f", "--showformat=")):
            form = word.partition("=")[2] or word[2:]
        else:
            names.append(word)
    have = packages.installed()
    code = 0
    for pattern in names or ["*"]:
        found = fnmatch.filter(sorted(have), pattern)
        if not found:
            sys.stderr.write(f"{program}: no packages found matching {pattern}\n")
            code = 1
        for name in found:
            sys.stdout.write(_line(form, name, have[name]))
    return code


def _line(form: str, name: str, version: str) -> str:
    fields = {
        "binary:Package": name,
        "Package": name,
        "Version": version,
        "Status": "install ok installed",
        "db:Status-Status": "installed",
        "db:Status-Abbrev": "ii ",
    }
    for key, value in fields.items():
        form = form.replace(f"${{{key}}}", value)
    return form.replace("\\n", "\n").replace("\\t", "\t")
