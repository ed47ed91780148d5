"""Any OpenAI-compatible server that streams: vLLM, llama.cpp, TGI, SGLang, Triton's front end.

Standard library only. One thread per concurrent request reads the server-sent events; the server's own
`usage` counts tokens, because a chunk may carry several. With `server` the program is started afresh for
every run and stopped after it.
"""

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, cast
from urllib.parse import urlsplit

from shadow_perfgate.engines.base import EngineSettings, Reply, Request, batches
from shadow_perfgate.measure.orphans import ends_with_parent


class OpenAiEngine:
    """Streams completions; options `url` (with `/v1`), `model`, `chat`, `extra`, `api_key_env`, `server`."""

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._options = settings.options
        self._url = urlsplit(str(self._options["url"]).rstrip("/"))
        self._chat = bool(self._options.get("chat", True))
        self._server: subprocess.Popen[bytes] | None = None
        self._counted = True

    def load(self) -> None:
        """Start the server when one is configured, and wait until it lists its models."""
        server = cast("Sequence[str]", self._options.get("server", ()))
        if server:
            first = ends_with_parent()
            self._server = subprocess.Popen([*server], preexec_fn=first)  # noqa: PLW1509 - no other thread yet
        deadline = time.monotonic() + float(str(self._options.get("ready_s", 600)))
        while not self._ready():
            if self._server is not None and self._server.poll() is not None:
                raise RuntimeError(
                    f"server {server[0]!r} ended with {self._server.returncode} before it was ready"
                )
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self._url.geturl()}/models gave no answer 200; is the server running?")
            time.sleep(0.2)

    def _ready(self) -> bool:
        try:
            connection = self._connect(timeout=5)
            connection.request("GET", f"{self._url.path}/models", headers=self._headers())
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False

    def serve(self, requests: Sequence[Request], after_batch: Callable[[], None]) -> list[Reply]:
        """Send the requests, `batch` of them at the same time."""
        replies: list[Reply] = []
        with ThreadPoolExecutor(self._settings.batch) as threads:
            for group in batches(requests, max(len(requests) // 8, self._settings.batch)):
                replies += threads.map(self._one, group)
                after_batch()
        return replies

    def _one(self, request: Request) -> Reply:
        sent = time.monotonic_ns()
        try:
            connection = self._connect(timeout=float(str(self._options.get("request_s", 300))))
            path = f"{self._url.path}/{'chat/' if self._chat else ''}completions"
            sent = time.monotonic_ns()
            connection.request("POST", path, json.dumps(self._body(request)), self._headers())
            return self._read(connection.getresponse(), sent)
        except (OSError, HTTPException, ValueError) as error:
            return Reply(sent, done_ns=time.monotonic_ns(), error=f"{type(error).__name__}: {error}")

    def _read(self, response: HTTPResponse, sent: int) -> Reply:
        if response.status != 200:
            text = response.read(400).decode("utf-8", "replace")
            return Reply(sent, done_ns=time.monotonic_ns(), error=f"HTTP {response.status}: {text}")
        times: list[int] = []
        parts: list[str] = []
        usage: Mapping[str, Any] = {}
        for event in events(response):
            usage = event.get("usage") or usage
            text = delta(event)
            if text:
                times.append(time.monotonic_ns())
                parts.append(text)
        if not times:
            return Reply(sent, done_ns=time.monotonic_ns(), error="the stream held no text")
        self._counted = self._counted and "completion_tokens" in usage
        tokens = int(usage.get("completion_tokens", len(times)))
        read = int(usage.get("prompt_tokens", 0))
        return Reply(sent, tuple(times), times[-1], tokens, "".join(parts), input_tokens=read)

    def _body(self, request: Request) -> dict[str, Any]:
        limits = {"max_tokens": request.output_tokens, "temperature": 0, "seed": self._settings.seed}
        ask = (
            {"messages": [{"role": "user", "content": request.prompt}]}
            if self._chat
            else {"prompt": request.prompt}
        )
        extra = cast("Mapping[str, Any]", self._options.get("extra", {"ignore_eos": True}))
        stream = {"stream": True, "stream_options": {"include_usage": True}}
        return {"model": self._options.get("model", ""), **ask, **limits, **stream, **extra}

    def _connect(self, timeout: float) -> HTTPConnection:
        kind = HTTPSConnection if self._url.scheme == "https" else HTTPConnection
        return kind(self._url.hostname or "", self._url.port, timeout=timeout)

    def _headers(self) -> dict[str, str]:
        name = str(self._options.get("api_key_env", ""))
        key = os.environ.get(name, "") if name else ""
        return {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})

    def figures(self) -> dict[str, float]:
        """Return the KV cache's size and the preemptions where the server's /metrics tells them.

        Servers that take all VRAM at the start show a memory regression as fewer tokens in the cache.
        """
        try:
            connection = self._connect(timeout=5)
            connection.request("GET", "/metrics", headers=self._headers())
            response = connection.getresponse()
            text = response.read().decode("utf-8", "replace") if response.status == 200 else ""
        except (OSError, HTTPException):
            return {}
        return _told_by_metrics(text)

    def notes(self) -> tuple[str, ...]:
        """Say how tokens were counted and timed."""
        if self._counted:
            return (
                "inter-token latency is the gap between streamed chunks; tokens are the server's own count",
            )
        return ("the server sends no usage: each streamed chunk counts as one token",)

    def close(self) -> None:
        """Stop the server that was started here."""
        if self._server is None:
            return
        self._server.terminate()
        try:
            self._server.wait(30)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()


def _told_by_metrics(text: str) -> dict[str, float]:
    """Return what vLLM's or SGLang's metrics say; of other servers nothing is known."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        name, _, rest = line.partition("{")
        value = line.rpartition(" ")[2]
        if name == "vllm:cache_config_info":
            labels = dict(re.findall(r'(\w+)="([^"]*)"', rest))
            if labels.get("num_gpu_blocks", "").isdecimal() and labels.get("block_size", "").isdecimal():
                found["kv_cache_tokens"] = float(labels["num_gpu_blocks"]) * float(labels["block_size"])
        elif name == "sglang:max_total_num_tokens":
            found["kv_cache_tokens"] = float(value)
        elif name == "vllm:num_preemptions_total":
            found["preemptions"] = found.get("preemptions", 0.0) + float(value)
    return found


def events(lines: Iterator[bytes] | HTTPResponse) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a stream of server-sent events, up to `[DONE]`; an error event raises."""
    for line in lines:
        if not line.startswith(b"data:"):
            continue
        data = line[5:].strip()
        if data == b"[DONE]":
            return
        event: dict[str, Any] = json.loads(data)
        if "error" in event:
            raise ValueError(f"the server broke off: {event['error']}")
        yield event


def delta(event: Mapping[str, Any]) -> str:
    """Return the text that an event adds, of chat or plain completions, reasoning included."""
    choices: list[Mapping[str, Any]] = event.get("choices") or [{}]
    part: Mapping[str, Any] = choices[0].get("delta") or {}
    return str(part.get("content") or part.get("reasoning_content") or choices[0].get("text") or "")
