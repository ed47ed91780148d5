"""A real browser, driven over a pipe in the DevTools protocol: no driver, no port, no dependency."""

import base64
import json
import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

PATIENCE_S = 30


class Browser:
    """One headless Chromium with one page."""

    def __init__(self, program: str, profile: Path) -> None:
        commands, self._out = os.pipe()
        self._in, events = os.pipe()
        flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
        ]
        flags += ["--remote-debugging-pipe", f"--user-data-dir={profile}", "--disable-background-networking"]
        # The protocol wants its pipe at descriptors 3 and 4; a shell puts them there in the child alone.
        line = f'exec "$0" "$@" 3<&{commands} 4>&{events}'
        self._process = subprocess.Popen(
            ["bash", "-c", line, program, *flags, "about:blank"],
            pass_fds=(commands, events),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(events)
        self._buffer, self._number = b"", 0
        self.console: list[str] = []
        """Errors that the page logged."""
        self._session = ""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def open(self, url: str) -> None:
        """Go to an address and wait until it is loaded."""
        self._call("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def value(self, expression: str) -> Any:
        """Return what an expression gives in the page."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, condition: str) -> None:
        """Wait, inside the page, until a condition holds."""
        wait = f"""new Promise((done) => {{
          const end = Date.now() + {PATIENCE_S * 1000};
          const look = () => {{ let good = false; try {{ good = Boolean({condition}); }} catch {{}}
            if (good || Date.now() > end) done(good); else setTimeout(look, 50); }};
          look(); }})"""
        for _ in range(3):
            with suppress(AssertionError, KeyError):  # a page that is left takes its promise with it
                assert self.value(wait), f"never came true: {condition}"
                return
        raise AssertionError(f"never came true: {condition}")

    def scheme(self, name: str) -> None:
        """Prefer `light` or `dark`."""
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def size(self, width: int, height: int) -> None:
        """Set the size of the window."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def picture(self, file: Path, *, whole: bool = False) -> None:
        """Save what is seen, or the whole page."""
        data = self._call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        file.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        """End the browser."""
        os.close(self._out)
        os.close(self._in)
        self._process.terminate()
        self._process.wait(PATIENCE_S)

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return dict(answer["result"])
            self._note(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._in, 1 << 16)
            assert part, "the browser has ended"
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(line))

    def _note(self, event: dict[str, Any]) -> None:
        if event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
            self.console.append(event["params"]["entry"]["text"])
        if event.get("method") == "Runtime.exceptionThrown":
            self.console.append(str(event["params"]["exceptionDetails"]))


def program() -> str | None:
    """Return the path of an installed Chromium."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
