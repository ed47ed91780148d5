"""`gpg` and `apt-key`: armour off, fingerprints shown, keys imported."""

import sys
from collections.abc import Sequence
from pathlib import Path

from localcloud.standins import keys

_VALUED = frozenset({"-o", "--output", "--keyring", "--homedir", "--keyserver", "--recv-keys"})


def main(program: str, arguments: Sequence[str]) -> int:
    """Run one command."""
    words = list(arguments)
    if program == "apt-key":
        sys.stdin.read() if "-" in words else None
        sys.stdout.write("OK\n")
        return 0
    inputs = [
        w for i, w in enumerate(words) if not w.startswith("-") and (i == 0 or words[i - 1] not in _VALUED)
    ]
    try:
        data = Path(inputs[-1]).read_bytes() if inputs else sys.stdin.buffer.read()
    except OSError as error:
        sys.stderr.write(f"gpg: can't open '{inputs[-1]}': {error.strerror}\n")
        return 2
    fingerprint = keys.fingerprint(data)
    if fingerprint is None:
        sys.stderr.write("gpg: no valid OpenPGP data found.\n")
        return 2
    if "--dearmor" in words:
        return _write(keys.dearmor(data), words)
    if "--show-keys" in words or "--with-colons" in words:
        colons = f"pub:-:4096:1:{fingerprint[-16:]}:1500000000:::-:::scESC::::::23::0:\n"
        colons += f"fpr:::::::::{fingerprint}:\n"
        plain = f"pub   rsa4096 2017-07-14 [SC]\n      {fingerprint}\n"
        sys.stdout.write(colons if "--with-colons" in words else plain)
    return 0


def _write(data: bytes, words: list[str]) -> int:
    target = next(
        (Path(words[i + 1]) for i, word in enumerate(words[:-1]) if word in {"-o", "--output"}), None
    )
    if target is None:
        sys.stdout.buffer.write(data)
        return 0
    if target.exists() and "--yes" not in words:
        sys.stderr.write(f"gpg: File '{target}' exists.\ngpg: dearmoring failed: File exists\n")
        return 2
    target.write_bytes(data)
    return 0
