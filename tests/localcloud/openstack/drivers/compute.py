# mypy: disable-error-code="import-not-found"
# pyright: basic, reportMissingImports=false
"""nova-compute with the drivers of this folder."""

from pathlib import Path

import nova.cmd.compute  # first of all Nova modules: it chooses between threads and eventlet
import nova.virt

nova.virt.__path__.append(str(Path(__file__).parent / "nova_virt"))
nova.cmd.compute.main()
