"""Stands for an inference benchmark: a long prompt takes most of a minute, a short one a few seconds."""

import os
import time

seconds = {"short": 3, "long": 40}[os.environ.get("PROMPT", "short")]
started = time.monotonic()
tokens = 0
while time.monotonic() - started < seconds:
    time.sleep(0.05)
    tokens += 1
print(f"{tokens} tokens, {1000 * seconds / tokens:.1f} ms/token")
