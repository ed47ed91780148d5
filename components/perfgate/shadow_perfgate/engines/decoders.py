"""Greedy decoding of a transformers model, one step at a time, in three ways that differ in noise.

`eager` launches every kernel from Python, so a small model is bound by the host; `graphs` replays captured
CUDA graphs; `compile` lets `torch.compile` do so. Each yields the tokens of a step once the host has them, as
a server that streams does.
"""

import inspect
from collections.abc import Callable, Iterator
from typing import Any, Final

CHECKED: Final = 4
"""Tokens by which graphs must agree with plain launches before anything is measured."""


class EagerDecoder:
    """Launches every kernel of every step from Python."""

    def __init__(self, torch: Any, model: Any) -> None:
        self._torch = torch
        self._model = model

    def steps(self, prompt: Any, count: int) -> Iterator[list[int]]:
        """Yield `count` tokens for each row of the `prompt` tensor, one step at a time."""
        found = self._model(input_ids=prompt, use_cache=True, logits_to_keep=1)
        for _ in range(count - 1):
            token = found.logits[:, -1].argmax(-1)
            yield token.tolist()
            found = self._model(
                input_ids=token[:, None], past_key_values=found.past_key_values, use_cache=True
            )
        yield found.logits[:, -1].argmax(-1).tolist()


class StaticDecoder:
    """Decodes with a cache of fixed size, so that every step has the same shapes and addresses."""

    def __init__(self, torch: Any, model: Any, cache_class: Any) -> None:
        self._torch = torch
        self._model = model
        self._cache_class = cache_class
        self._takes_position = "cache_position" in inspect.signature(model.forward).parameters
        self._shape: tuple[int, int, int] | None = None
        self._cache: Any = None
        self._prompt: Any = None
        self._where: Any = None
        self._token: Any = None
        self._position: Any = None

    def steps(self, prompt: Any, count: int) -> Iterator[list[int]]:
        """Yield `count` tokens for each row of the `prompt` tensor, one step at a time."""
        self._fit(prompt, count)
        self._prompt.copy_(prompt)
        self._begin()
        yield self._token[:, 0].tolist()
        for _ in range(count - 1):
            self._step()
            yield self._token[:, 0].tolist()

    def _fit(self, prompt: Any, count: int) -> None:
        rows, length = prompt.shape
        if (rows, length, count) == self._shape:
            return
        self._shape = (rows, length, count)
        self._cache = self._cache_class(config=self._model.config, max_cache_len=length + count)
        self._prompt = prompt.clone()
        self._where = self._torch.arange(length, device=prompt.device)
        self._token = self._torch.zeros((rows, 1), dtype=prompt.dtype, device=prompt.device)
        self._position = self._torch.zeros(1, dtype=prompt.dtype, device=prompt.device)
        self._read_prompt()
        self._prepare()

    def _forward(self, model: Any, tokens: Any, where: Any) -> None:
        extra = {"cache_position": where} if self._takes_position else {}
        found = model(
            input_ids=tokens,
            position_ids=where[None],
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
            **extra,
        )
        self._token.copy_(found.logits[:, -1].argmax(-1, keepdim=True))

    def _read_prompt(self) -> None:
        self._cache.reset()
        self._forward(self._model, self._prompt, self._where)
        self._position.fill_(self._where.shape[0])

    def _advance(self, model: Any) -> None:
        self._forward(model, self._token, self._position)
        self._position.add_(1)

    def _prepare(self) -> None:
        """Do what must be done once per shape."""

    def _begin(self) -> None:
        self._read_prompt()

    def _step(self) -> None:
        self._advance(self._model)


class GraphDecoder(StaticDecoder):
    """Replays captured CUDA graphs of the prompt and of a step: one launch, not one for every kernel."""

    def __init__(self, torch: Any, model: Any, cache_class: Any) -> None:
        super().__init__(torch, model, cache_class)
        self._prompt_graph: Any = None
        self._step_graph: Any = None

    def _prepare(self) -> None:
        wanted = self._first_tokens(self._read_prompt, lambda: self._advance(self._model))
        self._prompt_graph = self._captured(self._read_prompt)
        self._step_graph = self._captured(lambda: self._advance(self._model))
        if self._first_tokens(self._begin, self._step) != wanted:
            raise ValueError(
                "CUDA graphs give other tokens than the same model without them: its steps depend on values "
                'of the host (sliding windows do); use quiet = "eager" or "compile"'
            )

    def _first_tokens(self, begin: Callable[[], None], step: Callable[[], None]) -> list[list[int]]:
        begin()
        found = [self._token[:, 0].tolist()]
        for _ in range(min(CHECKED, (self._shape or (0, 0, 1))[2]) - 1):
            step()
            found.append(self._token[:, 0].tolist())
        return found

    def _captured(self, work: Callable[[], None]) -> Any:
        """Return the graph of `work`, which runs on another stream first, as capturing demands."""
        cuda = self._torch.cuda
        side = cuda.Stream()
        side.wait_stream(cuda.current_stream())
        with cuda.stream(side):
            self._read_prompt()
            work()
        cuda.current_stream().wait_stream(side)
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            work()
        return graph

    def _begin(self) -> None:
        self._prompt_graph.replay()

    def _step(self) -> None:
        self._step_graph.replay()


class CompiledDecoder(StaticDecoder):
    """Compiles the step with `torch.compile`, which on a GPU replays CUDA graphs as well."""

    def _prepare(self) -> None:
        self._compiled = self._torch.compile(self._model, mode="reduce-overhead", fullgraph=False)
        for _ in range(3):
            self._read_prompt()
            self._advance(self._compiled)

    def _step(self) -> None:
        self._advance(self._compiled)
