"""Checks user-data with the real `cloud-init schema`."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from localcloud.guests import cloud_init

_SYSTEM_PYTHON = "/usr/bin/python3"
_FAULT = re.compile(r"^\s*(?:# )?E\d+:?\s|:\s")


def validate(user_data: str) -> list[str]:
    """Faults that cloud-init finds in a document, each with its place; empty for a valid one.

    Raises:
        cloud_init.CloudInitError: cloud-init could not be fetched.
    """
    unpacked = cloud_init.fetch()
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as document:
        document.write(user_data)
        document.flush()
        code = "import sys; from cloudinit.cmd.main import main; sys.argv[0] = 'cloud-init'; sys.exit(main())"
        python = _SYSTEM_PYTHON if Path(_SYSTEM_PYTHON).exists() else sys.executable
        ran = subprocess.run(
            [python, "-s", "-c", code, "schema", "--config-file", document.name],
            env=cloud_init.environment(unpacked),
            capture_output=True,
            text=True,
            check=False,
        )
    if ran.returncode == 0:
        return []
    said = f"{ran.stdout}\n{ran.stderr}".replace(document.name, "user-data")
    return [line.strip() for line in said.splitlines() if _FAULT.search(line)] or [said.strip()]
