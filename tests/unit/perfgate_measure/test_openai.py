"""The OpenAI-compatible engine against a streaming server on this machine, with the faults servers have."""

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from shadow_perfgate.engines.base import EngineSettings, Request
from shadow_perfgate.engines.openai import OpenAiEngine, delta, events

REQUESTS = [Request(str(number), f"prompt {number}", 0, 4) for number in range(4)]


class Handler(BaseHTTPRequestHandler):
    """Streams four chunks, the second of two tokens, and the usage; `server.mode` chooses a fault."""

    def do_GET(self) -> None:
        server: Any = self.server
        self.send_response(200)
        self.end_headers()
        if self.path == "/metrics":
            self.wfile.write(server.metrics.encode())

    def do_POST(self) -> None:
        server: Any = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.seen.append((self.path, self.headers.get("Authorization"), body))
        if server.mode == "refuse":
            self.send_error(503, "overloaded")
            return
        self.send_response(200)
        self.end_headers()
        for event in server.script:
            self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        if server.mode != "cut":
            self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


def chat(text: str, **more: object) -> dict[str, object]:
    return {"choices": [{"delta": {"content": text}}], **more}


USAGE = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5}}
SCRIPT = [chat(""), chat("one"), chat(" two three"), chat(" four"), chat(" five"), USAGE]


@pytest.fixture
def server() -> Iterator[Any]:
    made: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.seen, made.script, made.mode, made.metrics = [], SCRIPT, "", ""
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def engine(server: Any, **options: object) -> OpenAiEngine:
    url = f"http://127.0.0.1:{server.server_port}/v1"
    return OpenAiEngine(
        EngineSettings({"url": url, "model": "tiny", **options}, batch=2, seed=7, quiet="eager")
    )


def test_chunks_are_timed_and_the_servers_usage_counts_tokens(server: Any) -> None:
    made = engine(server)
    made.load()
    groups: list[int] = []
    replies = made.serve(REQUESTS, lambda: groups.append(1))
    assert [reply.error for reply in replies] == [""] * 4
    reply = replies[0]
    assert (len(reply.token_ns), reply.output_tokens, reply.input_tokens) == (4, 5, 7)
    assert reply.output == "one two three four five"
    assert list(reply.token_ns) == sorted(reply.token_ns)
    assert reply.sent_ns <= reply.token_ns[0]
    assert reply.done_ns == reply.token_ns[-1]
    assert len(groups) == 2
    assert made.notes() == (
        "inter-token latency is the gap between streamed chunks; tokens are the server's own count",
    )
    made.close()


def test_the_request_fixes_length_seed_and_temperature(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVER_KEY", "planted-0123456789")
    engine(server, api_key_env="SERVER_KEY").serve(REQUESTS[:1], list)
    path, authorization, body = server.seen[0]
    assert path == "/v1/chat/completions"
    assert authorization == "Bearer planted-0123456789"
    assert body["messages"] == [{"role": "user", "content": "prompt 0"}]
    wanted = {
        "max_tokens": 4,
        "temperature": 0,
        "seed": 7,
        "stream": True,
        "ignore_eos": True,
        "model": "tiny",
    }
    assert wanted.items() <= body.items()
    assert body["stream_options"] == {"include_usage": True}


def test_plain_completions_stream_their_text(server: Any) -> None:
    server.script = [{"choices": [{"text": "a"}]}, {"choices": [{"text": "b"}]}]
    made = engine(server, chat=False, extra={})
    (reply,) = made.serve(REQUESTS[:1], list)
    assert (reply.output, reply.output_tokens, server.seen[0][0]) == ("ab", 2, "/v1/completions")
    assert "ignore_eos" not in server.seen[0][2]
    assert made.notes() == ("the server sends no usage: each streamed chunk counts as one token",)


@pytest.mark.parametrize(
    ("mode", "script", "fault"),
    [
        ("refuse", SCRIPT, "HTTP 503"),
        ("", [USAGE], "the stream held no text"),
        ("", [chat("a"), {"error": {"message": "out of memory"}}], "the server broke off"),
    ],
)
def test_a_request_that_fails_is_counted_with_its_reason(
    server: Any, mode: str, script: list[dict[str, object]], fault: str
) -> None:
    server.mode, server.script = mode, script
    (reply,) = engine(server).serve(REQUESTS[:1], list)
    assert fault in reply.error
    assert reply.output_tokens == 0


def test_a_server_that_is_away_is_named() -> None:
    options = {"url": "http://127.0.0.1:9/v1", "ready_s": 0}
    with pytest.raises(TimeoutError, match=r"http://127.0.0.1:9/v1/models gave no answer 200"):
        OpenAiEngine(EngineSettings(options, 1, 0, "eager")).load()


def test_a_server_that_ends_before_it_is_ready_is_named() -> None:
    options = {"url": "http://127.0.0.1:9/v1", "server": [sys.executable, "-c", "raise SystemExit(3)"]}
    with pytest.raises(RuntimeError, match="ended with 3 before it was ready"):
        OpenAiEngine(EngineSettings(options, 1, 0, "eager")).load()


def test_reasoning_counts_as_output_and_comments_are_skipped() -> None:
    lines = [
        b": ping\n",
        b"\n",
        b'data: {"choices": [{"delta": {"reasoning_content": "hm"}}]}\n',
        b"data: [DONE]\n",
    ]
    assert [delta(event) for event in events(iter(lines))] == ["hm"]


VLLM_METRICS = """
vllm:cache_config_info{block_size="16",num_gpu_blocks="20865",cache_dtype="auto"} 1.0
vllm:num_preemptions_total{engine="0",model_name="tiny"} 2.0
"""


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("", {}),
        ("# HELP x\nhttp_requests_total 7\n", {}),
        (
            VLLM_METRICS,
            {"kv_cache_tokens": 333840.0, "preemptions": 2.0},
        ),
        ('vllm:cache_config_info{block_size="16",num_gpu_blocks="None"} 1.0\n', {}),
        ('sglang:max_total_num_tokens{model_name="tiny"} 12345.0\n', {"kv_cache_tokens": 12345.0}),
    ],
)
def test_the_servers_own_metrics_tell_the_size_of_its_cache(
    server: Any, text: str, figures: dict[str, float]
) -> None:
    server.metrics = text
    assert engine(server).figures() == figures


def test_a_server_without_metrics_tells_nothing() -> None:
    options = {"url": "http://127.0.0.1:9/v1"}
    assert OpenAiEngine(EngineSettings(options, 1, 0, "eager")).figures() == {}
