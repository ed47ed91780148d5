"""A job's log: secrets masked, kept whole, and sent to GitLab in pieces while the job runs."""

import threading
import time
import zlib
from collections.abc import Generator
from contextlib import contextmanager

from localcloud.standins._gitlab_runner_api import Coordinator

MASK = b"[MASKED]"
CYAN, GREEN, RED, YELLOW, RESET = "\x1b[36;1m", "\x1b[32;1m", "\x1b[31;1m", "\x1b[0;33m", "\x1b[0;m"
TOKEN_CHARS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.="
FIRST_INTERVAL_S = 1.0
STOPPED = {"canceled", "canceling", "failed"}


class Masker:
    """Replaces secrets in a stream, also those cut in two by its chunks."""

    def __init__(self, secrets: list[str], prefixes: list[str]) -> None:
        self._secrets = sorted({word.encode() for word in secrets if word}, key=len, reverse=True)
        self._prefixes = [prefix.encode() for prefix in prefixes if prefix]
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """What can be shown now; an end that may be the start of a secret is held back."""
        text = self._masked(self._held + chunk)
        keep = self._open_end(text)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def finish(self) -> bytes:
        """The rest."""
        rest, self._held = self._masked(self._held), b""
        return rest

    def _masked(self, text: bytes) -> bytes:
        for word in self._secrets:
            text = text.replace(word, MASK)
        for prefix in self._prefixes:
            pieces = text.split(prefix)
            text = (prefix + MASK).join([pieces[0], *(self._after_token(piece) for piece in pieces[1:])])
        return text

    @staticmethod
    def _after_token(piece: bytes) -> bytes:
        return piece.removeprefix(MASK).lstrip(TOKEN_CHARS)

    def _open_end(self, text: bytes) -> int:
        longest = 0
        for word in (*self._secrets, *self._prefixes):
            for size in range(min(len(word) - 1, len(text)), longest, -1):
                if word.startswith(text[-size:]):
                    longest = size
                    break
        return longest


class Trace:
    """The log of one job and the thread that sends it; `stop_reason` is set when GitLab ended the job."""

    def __init__(self, coordinator: Coordinator, job_id: int, token: str, masker: Masker) -> None:
        self._coordinator, self._job_id, self._token, self._masker = coordinator, job_id, token, masker
        self._content, self._sent, self._lock = bytearray(), 0, threading.Lock()
        self._interval_s, self._done = FIRST_INTERVAL_S, threading.Event()
        self.stopped = threading.Event()
        self.stop_reason = ""
        self._thread = threading.Thread(target=self._send_regularly, daemon=True)
        self._thread.start()

    def write(self, chunk: bytes) -> None:
        """Append output."""
        with self._lock:
            self._content += self._masker.feed(chunk)

    def line(self, text: str) -> None:
        """Append a line of the runner's own."""
        self.write(f"{text}\n".encode())

    @contextmanager
    def section(self, name: str, title: str) -> Generator[None]:
        """A part of the log that GitLab can fold."""
        self.write(f"section_start:{int(time.time())}:{name}\r\x1b[0K".encode())
        self.line(f"\x1b[0K{CYAN}{title}{RESET}")
        try:
            yield
        finally:
            self.write(f"section_end:{int(time.time())}:{name}\r\x1b[0K".encode())

    def finish(self) -> dict[str, object]:
        """Send what is left; gives size and checksum of the whole log."""
        with self._lock:
            self._content += self._masker.finish()
        self._done.set()
        self._thread.join()
        while self._pending() and not self.stop_reason.startswith("403") and self._send():
            pass
        return {"bytesize": len(self._content), "checksum": f"crc32:{zlib.crc32(bytes(self._content)):08x}"}

    def _pending(self) -> bytes:
        with self._lock:
            return bytes(self._content[self._sent :])

    def _send_regularly(self) -> None:
        while not self._done.wait(self._interval_s):
            self._send()

    def _send(self) -> bool:
        piece = self._pending()
        headers = {
            "JOB-TOKEN": self._token, "Content-Type": "text/plain",
            "Content-Range": f"{self._sent}-{max(self._sent + len(piece) - 1, self._sent)}",
        }  # fmt: skip
        reply = self._coordinator.call("PATCH", f"/jobs/{self._job_id}/trace", piece, headers)
        if reply.status == 202:
            self._sent += len(piece)
            self._interval_s = float(reply.headers.get("x-gitlab-trace-update-interval", 3))
        elif reply.status == 416:
            self._sent = int(reply.headers.get("range", "0-0").split("-")[1])
        self._notice_stop(reply.status, reply.headers.get("job-status", ""))
        return reply.status in {202, 416}

    def _notice_stop(self, status: int, state: str) -> None:
        if status == 403 or state in STOPPED:
            self.stop_reason = self.stop_reason or (f"403 {state}".strip() if status == 403 else state)
            self.stopped.set()
