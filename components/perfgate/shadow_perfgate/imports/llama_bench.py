"""Results of `llama-bench -o json` and `-o jsonl`: one test for each prompt and generation length."""

from statistics import median
from typing import Final

from shadow_perfgate.imports.build import session
from shadow_perfgate.imports.node import Node
from shadow_perfgate.model import Session, Workload

SETTINGS: Final = (
    "model_type",
    "n_batch",
    "n_ubatch",
    "n_threads",
    "type_k",
    "type_v",
    "n_gpu_layers",
    "split_mode",
    "flash_attn",
    "no_kv_offload",
    "use_mmap",
    "n_depth",
)
ONE_PROCESS = (
    "repetitions of one process: noise between processes is not in them; run llama-bench several times"
)


def _tests(document: Node) -> list[Node]:
    return document.each() or [document]


def fits(document: Node) -> bool:
    """Tell whether `document` is a list of tests, or one of them."""
    return all(test.has("n_prompt", "n_gen", "avg_ts") for test in _tests(document))


def read(document: Node) -> list[Session]:
    """Return one session per test; `pp` tests read a prompt, `tg` tests generate, `pg` tests do both."""
    return [_test(test) for test in _tests(document)]


def _test(test: Node) -> Session:
    read_tokens, made_tokens = int(test["n_prompt"].needed()), int(test["n_gen"].needed())
    rates = test["samples_ts"].numbers() or [test["avg_ts"].needed()]
    kind = "pp" if not made_tokens else "tg" if not read_tokens else "pg"
    name = f"{kind}{read_tokens or ''}{'+' if kind == 'pg' else ''}{made_tokens or ''}"
    return session(
        "llama-bench",
        test.source,
        Workload(name, output_tokens=made_tokens, arguments=test.settings(SETTINGS)),
        _metrics(kind, read_tokens, median(rates)),
        requests=len(rates),
        samples={"itl": tuple(1000 / rate for rate in rates)} if kind == "tg" and all(rates) else {},
        notes=(ONE_PROCESS,),
    )


def _metrics(kind: str, read_tokens: int, rate: float) -> dict[str, float]:
    if kind == "pp":
        return {"prefill_tps": rate} | ({"ttft_median": read_tokens / rate * 1000} if rate else {})
    return {"output_tps": rate} | ({"itl_median": 1000 / rate} if rate and kind == "tg" else {})
