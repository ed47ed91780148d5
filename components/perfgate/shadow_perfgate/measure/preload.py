"""Imports slow packages once and forks a fresh process for every run; started with `python -m`.

Only packages that do not touch the GPU at import may be preloaded; each run still gets a CUDA context, an
allocator and a model of its own. Talks JSON lines: a job in, `{"pid": …}` and `{"code": …}` out.
"""

import importlib
import json
import os
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

from shadow_perfgate.measure import worker
from shadow_perfgate.measure.orphans import ends_with_parent


def serve(modules: list[str]) -> None:
    """Import `modules`, then run the jobs of standard input one after another."""
    warnings.simplefilter(
        "ignore", DeprecationWarning
    )  # fork beside threads that libraries keep for themselves
    for name in modules:
        importlib.import_module(name)
    _tell({"ready": modules})
    for line in sys.stdin:
        job: dict[str, str] = json.loads(line)
        first = ends_with_parent()
        pid = os.fork()
        if pid == 0:
            first()
            os._exit(_child(job))
        os.setpgid(pid, pid)
        _tell({"pid": pid})
        _, status = os.waitpid(pid, 0)
        _tell({"code": os.waitstatus_to_exitcode(status)})


def _tell(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)  # noqa: T201 - the protocol's channel


def _child(job: dict[str, str]) -> int:
    os.setpgid(0, 0)
    try:
        os.chdir(job["folder"])
        sys.path.insert(0, job["folder"])
        for name, descriptor in (("stdout", 1), ("stderr", 2)):
            os.dup2(os.open(job[name], os.O_WRONLY | os.O_CREAT, 0o600), descriptor)
        return worker.run(Path(job["plan"]), Path(job["result"]))
    except BaseException:  # noqa: BLE001 - a forked child must never return into the server's loop
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


if __name__ == "__main__":
    serve(sys.argv[1:])
