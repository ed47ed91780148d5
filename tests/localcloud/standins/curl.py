"""`curl` and `wget`: loopback and metadata for real, known repository files from here, nothing else."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from localcloud.standins import keys
from localcloud.standins.init import METADATA_URL
from localcloud.standins.rootfs import HOST

_METADATA = "169.254.169.254"
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_UNRESOLVED = 6
_REFUSED = 7


def main(program: str, arguments: Sequence[str]) -> int:
    """Become the real curl with addresses that may be reached."""
    words = _as_curl(arguments) if program == "wget" else list(arguments)
    extra = list[str]()
    for index, word in enumerate(words):
        if "://" not in word and not word.startswith((_METADATA, *_LOOPBACK)):
            continue
        if index and words[index - 1] in {
            "-H",
            "--header",
            "-d",
            "--data",
            "-x",
            "--proxy",
            "-e",
            "-A",
            "--data-raw",
        }:
            continue
        replaced = _reachable(word)
        if replaced is None:
            host = urlsplit(word).hostname
            sys.stderr.write(f"{program}: (6) Could not resolve host: {host}\n")
            return 4 if program == "wget" else _UNRESOLVED
        if replaced.startswith("file://"):
            extra = ["--proto", "=file,http,https"]
        words[index] = replaced
    real = f"{HOST}/usr/bin/curl"
    return subprocess.run([real, *words, *extra, "--noproxy", "*"], check=False).returncode


def _reachable(url: str) -> str | None:
    """Where the address leads in this guest; None where it leads nowhere."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.hostname in _LOOPBACK:
        return url
    if parts.hostname == _METADATA and parts.port in {None, 80}:
        return _metadata_url() + parts.path + (f"?{parts.query}" if parts.query else "")
    body = keys.content(url)
    if body is None:
        return None
    with tempfile.NamedTemporaryFile("w", prefix="fetched-", delete=False) as file:
        file.write(body)
    Path(file.name).chmod(0o644)
    return f"file://{file.name}"


def _metadata_url() -> str:
    return os.environ.get("SHADOW_METADATA_URL") or METADATA_URL.read_text()


def _as_curl(arguments: Sequence[str]) -> list[str]:
    """Wget's words as curl's."""
    out, left, named = ["-fsSL"], list(arguments), False
    while left:
        word = left.pop(0)
        if word.startswith("-") and not word.startswith("--") and "O" in word:
            target = word.partition("O")[2] or left.pop(0)
            out += [] if target == "-" else ["-o", target]
            named = True
        elif word.startswith("--output-document="):
            out += ["-o", word.partition("=")[2]]
            named = True
        elif word.startswith("--header="):
            out += ["-H", word.partition("=")[2]]
        elif not word.startswith("-"):
            out.append(word)
    return out if named else [*out, "-O"]
