"""A Python callable: `module:function` or `file.py:function`, called once per batch.

Its form is `generate(prompts: list[str], output_tokens: int)`. A generator yields, for every step, one token
per prompt, and so has inter-token latency; a plain function returns one list of tokens (or a text) per prompt
and has end-to-end latency only. When `load = "module:function"` is given, that is called first and what it
returns is used as the callable, so that loading is not measured.
"""

import importlib
import inspect
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from shadow_perfgate.engines.base import EngineSettings, Reply, Request, batches


class CallableEngine:
    """Measures the user's own function."""

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._generate: Callable[[list[str], int], Any] = _unloaded
        self._streams = False

    def load(self) -> None:
        """Import the callable, or call its loader."""
        options = self._settings.options
        target = str(options.get("load") or options["call"])
        found = resolve(target)
        self._generate = found() if options.get("load") else found
        self._streams = inspect.isgeneratorfunction(self._generate)

    def serve(self, requests: Sequence[Request], after_batch: Callable[[], None]) -> list[Reply]:
        """Call the function once per batch."""
        replies: list[Reply] = []
        for batch in batches(requests, self._settings.batch):
            replies += self._one(batch)
            after_batch()
        return replies

    def _one(self, batch: Sequence[Request]) -> list[Reply]:
        sent = time.monotonic_ns()
        try:
            result: object = self._generate([request.prompt for request in batch], batch[0].output_tokens)
            if isinstance(result, Iterator):
                return streamed(cast("Iterator[object]", result), sent, batch)
            return whole(result, sent, batch)
        except Exception as error:  # noqa: BLE001 - the user's code may raise anything; a failed request is a metric
            reason = f"{type(error).__name__}: {error}"
            return [Reply(sent, done_ns=time.monotonic_ns(), error=reason) for _ in batch]

    def figures(self) -> dict[str, float]:
        """Return nothing: a callable tells no figures of its own."""
        return {}

    def notes(self) -> tuple[str, ...]:
        """Return a hint when tokens cannot be told apart."""
        if self._streams:
            return ()
        return ("the callable returns whole answers: latency per token is end-to-end time divided by tokens",)

    def close(self) -> None:
        """Forget the callable, so that its model can be collected."""
        self._generate = _unloaded


def _unloaded(prompts: list[str], output_tokens: int) -> Any:
    raise RuntimeError(f"the callable is not loaded: {len(prompts)} prompts, {output_tokens} tokens")


def streamed(steps: Iterator[object], sent: int, batch: Sequence[Request]) -> list[Reply]:
    """Return the replies of a generator that yields one token per prompt and step."""
    times: list[int] = []
    rows: list[list[object]] = [[] for _ in batch]
    for step in steps:
        times.append(time.monotonic_ns())
        tokens = items(step) or [step]
        if len(tokens) != len(batch):
            wanted = f"{len(batch)} prompts; yield one each"
            raise ValueError(f"the callable yielded {len(tokens)} tokens for {wanted}")
        for row, token in zip(rows, tokens, strict=True):
            row.append(token)
    done = time.monotonic_ns()
    return [Reply(sent, tuple(times), done, len(row), repr(row)) for row in rows]


def whole(result: object, sent: int, batch: Sequence[Request]) -> list[Reply]:
    """Return the replies of a function that returned one answer per prompt."""
    done = time.monotonic_ns()
    answers = items(result)
    if answers is None or len(answers) != len(batch):
        shape = type(result).__name__ if answers is None else f"{len(answers)} answers"
        wanted = f"a list of {len(batch)} answers, one per prompt"
        raise TypeError(f"the callable returned {shape}, expected {wanted}")
    return [Reply(sent, (), done, length(answer), repr(answer)) for answer in answers]


def items(value: object) -> Sequence[object] | None:
    """Return what a list or tuple holds; text is one item, not many."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return None
    return cast("Sequence[object]", value)


def length(answer: object) -> int:
    """Return the tokens of an answer: the words of a text, the items of a list."""
    if isinstance(answer, str):
        return len(answer.split())
    found = items(answer)
    if found is None:
        raise TypeError(
            f"an answer of the callable is a {type(answer).__name__}, expected text or a list of tokens"
        )
    return len(found)


def resolve(target: str) -> Callable[..., Any]:
    """Return what `module:function` or `path/file.py:function` names."""
    place, _, name = target.rpartition(":")
    module = _from_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    found: Callable[..., Any] | None = vars(module).get(name)
    if found is None:
        names = ", ".join(key for key, value in vars(module).items() if inspect.isfunction(value)) or "none"
        raise ValueError(f"{target}: {place} has no function {name!r}; functions there: {names}")
    return found


def _from_file(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ValueError(f"{path}: no such Python file; the path is relative to the checkout")
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    return module
