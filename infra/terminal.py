"""What the commands of this folder print."""

import sys


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")


def complain(text: str, code: int) -> int:
    """Print an error and return the exit code."""
    sys.stderr.write(f"error: {text}\n")
    return code
