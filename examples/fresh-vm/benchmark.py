"""Stands for an inference benchmark: a long prompt takes most of a minute, a short one a few seconds.

A job that runs again after its machine was taken away is short too: there is nothing more to wait for.
"""

import os
import time

again = int(os.environ.get("GITHUB_RUN_ATTEMPT", "1")) > 1
seconds = {"short": 3, "long": 3 if again else 40}[os.environ.get("PROMPT", "short")]
started = time.monotonic()
tokens = 0
while time.monotonic() - started < seconds:
    time.sleep(0.05)
    tokens += 1
print(f"{tokens} tokens, {1000 * seconds / tokens:.1f} ms/token")
