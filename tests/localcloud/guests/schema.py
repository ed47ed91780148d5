"""Checks user-data with the real `cloud-init schema`."""

import re
import subprocess
import tempfile

from localcloud.guests import cloud_init

_HEADING = "Cloud config schema errors: "
_NEXT_FAULT = re.compile(r", (?=[\w.-]+: )")
_RUN = "import sys; from cloudinit.cmd.main import main; sys.argv[0] = 'cloud-init'; sys.exit(main())"


def validate(user_data: str) -> list[str]:
    """Faults that cloud-init finds in a document, each as `place: what`; empty for a valid one.

    Raises:
        cloud_init.CloudInitError: cloud-init could not be fetched.
    """
    unpacked = cloud_init.fetch()
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as document:
        document.write(user_data)
        document.flush()
        ran = subprocess.run(
            [cloud_init.SYSTEM_PYTHON, "-s", "-c", _RUN, "schema", "--config-file", document.name],
            env=cloud_init.environment(unpacked),
            capture_output=True,
            text=True,
            check=False,
        )
        said = f"{ran.stdout}\n{ran.stderr}".replace(document.name, "user-data")
    return [] if ran.returncode == 0 else _faults(said)


def _faults(said: str) -> list[str]:
    _, heading, faults = said.partition(_HEADING)
    if not heading:
        return [said.strip()]
    return [fault.strip() for fault in _NEXT_FAULT.split(faults.strip())]
