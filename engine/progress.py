"""One line of progress: which part, how many of how many, since when; quiet where nobody watches."""

import sys
import threading
import time
from types import TracebackType
from typing import Self, TextIO

REFRESH_S = 1.0
REPORT_S = 30.0


def clock(seconds: float) -> str:
    """Return a duration as m:ss."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"


class Progress:
    """Shows the parts in work on one refreshed terminal line, or a line every half minute in a log."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self._total = total
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._done = 0
        self._active: dict[str, str] = {}
        self._lock = threading.Lock()
        self._start = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._refresh, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._clear()

    def started(self, key: str, title: str) -> None:
        """Say that work on a part began."""
        with self._lock:
            self._active[key] = title
        self.say(f"{title} …")

    def note(self, key: str, text: str) -> None:
        """Replace what is shown for a part in work."""
        with self._lock:
            self._active[key] = text

    def finished(self, key: str, text: str, count: int = 1) -> None:
        """Say that a part is ready."""
        with self._lock:
            self._active.pop(key, None)
            self._done += count
        self.say(text)

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self._clear()
        elapsed = clock(time.monotonic() - self._start)
        print(f"engine: [{self._done}/{self._total} {elapsed}] {text}", file=self._stream, flush=True)

    def _clear(self) -> None:
        if self._terminal:
            self._stream.write("\r\x1b[K")

    def _refresh(self) -> None:
        interval = REFRESH_S if self._terminal else REPORT_S
        while not self._stop.wait(interval):
            with self._lock:
                text = " · ".join(self._active.values())
            if not text:
                continue
            if self._terminal:
                elapsed = clock(time.monotonic() - self._start)
                self._stream.write(f"\r\x1b[Kengine: [{self._done}/{self._total} {elapsed}] {text}"[:160])
                self._stream.flush()
            else:
                self.say(text)
