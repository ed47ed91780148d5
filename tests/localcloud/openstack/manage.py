"""Runs several steps of one `*-manage` program, importing it once: `python manage.py MODULE`, steps on stdin.

Runs inside the OpenStack virtual environment. Each step is a JSON list of arguments with the exit codes that
count as done; each runs in a forked child, so that no step sees what another one has configured.
"""

import importlib
import json
import os
import sys


def run(module: str, arguments: list[str]) -> int:
    """Exit code of one step."""
    child = os.fork()
    if child == 0:
        sys.argv = [module, *arguments]
        try:
            code = importlib.import_module(module).main()
        except SystemExit as end:
            code = end.code
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else int(code is not None))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    """Run the steps in order; exit with the first code that doesn't count as done."""
    module = sys.argv[1]
    steps = json.load(sys.stdin)
    importlib.import_module(module)
    for step in steps:
        code = run(module, step["arguments"])
        if code not in step["accept"]:
            sys.exit(code)


if __name__ == "__main__":
    main()
