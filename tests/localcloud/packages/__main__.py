"""Serves the index: `python -m localcloud.packages --port 8941`; `wheel` prints the wheel's address."""

import argparse
import os
import sys

from localcloud.packages import built, folder


def main() -> None:
    """Serve, or print the address of this checkout's wheel."""
    parser = argparse.ArgumentParser(prog="python -m localcloud.packages")
    parser.add_argument("what", nargs="?", choices=("serve", "wheel"), default="serve")
    parser.add_argument("--port", default="8941")
    options = parser.parse_args()
    if options.what == "wheel":
        sys.stdout.write(f"{built().url}\n")
        return
    folder().mkdir(parents=True, exist_ok=True)
    words = ["-m", "pypiserver", "run", "-p", options.port, "-i", "127.0.0.1", "--disable-fallback"]
    # Becomes the server, so that its pid is the one that was started.
    os.execv(  # noqa: S606
        sys.executable, [sys.executable, *words, "--backend", "simple-dir", str(folder())]
    )


if __name__ == "__main__":
    main()
