"""Runs the real cloud-init; its EC2 helper asks this guest's metadata service, not the fixed address."""

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from localcloud.standins.init import METADATA_URL
from localcloud.standins.rootfs import HOST

_MODULES = f"{HOST}/cloud-init/usr/lib/python3/dist-packages"


def main(program: str, arguments: Sequence[str]) -> int:
    """Hand over to cloud-init's own command line."""
    sys.path.insert(0, _MODULES)
    ec2 = importlib.import_module("cloudinit.sources.helpers.ec2")
    url = os.environ.get("SHADOW_METADATA_URL") or Path(METADATA_URL).read_text()
    for name in ("get_instance_userdata", "get_instance_metadata", "_get_instance_metadata"):
        function = getattr(ec2, name)
        function.__defaults__ = tuple(
            url if value == "http://169.254.169.254" else value for value in function.__defaults__ or ()
        )
    sys.argv = [program, *arguments]
    code: int = importlib.import_module("cloudinit.cmd.main").main() or 0
    return code
