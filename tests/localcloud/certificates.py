"""Certificates of our own for tests on loopback."""

import subprocess
from pathlib import Path
from typing import NamedTuple


class Pair(NamedTuple):
    """PEM files."""

    certificate: Path
    key: Path


def self_signed(folder: Path, host: str = "localhost") -> Pair:
    """Make `certificate.pem` and `key.pem` for `host` in `folder`, good for a day."""
    made = Pair(folder / "certificate.pem", folder / "key.pem")
    names = ["-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *names]
    files = ["-keyout", str(made.key), "-out", str(made.certificate)]
    subprocess.run([*command, *files], check=True, capture_output=True)
    return made
