"""The transformers engine's own logic, with stand-ins for both packages; the real ones ran on a GPU."""

import contextlib
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from shadow_perfgate.engines.base import EngineSettings, Request
from shadow_perfgate.engines.decoders import StaticDecoder
from shadow_perfgate.engines.transformers_engine import TransformersEngine


class Tokens:
    """What a step found: one token per row."""

    def __init__(self, values: list[int]) -> None:
        self.values = values

    def __getitem__(self, _key: object) -> "Tokens":
        return self

    def argmax(self, _axis: int) -> "Tokens":
        return self

    def tolist(self) -> list[int]:
        return list(self.values)


class Model:
    """Answers each prompt with its length, then counts up."""

    def __init__(self) -> None:
        self.config = SimpleNamespace(vocab_size=100)
        self.device = SimpleNamespace(type="cpu")
        self.calls: list[dict[str, Any]] = []

    def eval(self) -> "Model":
        return self

    def __call__(self, **named: Any) -> Any:
        self.calls.append(named)
        given = named["input_ids"]
        values = (
            [token + 1 for token in given.values]
            if isinstance(given, Tokens)
            else [len(r) for r in given.rows]
        )
        return SimpleNamespace(logits=Tokens(values), past_key_values="cache")


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Model:
    made = Model()
    torch = SimpleNamespace(
        manual_seed=lambda _seed: None,
        cuda=SimpleNamespace(is_available=lambda: False),
        float32="float32",
        inference_mode=contextlib.nullcontext,
        device=lambda _name: contextlib.nullcontext(),
        tensor=lambda rows, device: SimpleNamespace(
            rows=rows, shape=(len(rows), len(rows[0])), device=device
        ),
    )
    transformers = SimpleNamespace(
        AutoConfig=SimpleNamespace(for_model=lambda kind, **sizes: (kind, sizes)),
        AutoModelForCausalLM=SimpleNamespace(from_config=lambda *_, **__: made),
        StaticCache=object,
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "transformers", transformers)
    return made


def engine(batch: int = 2, quiet: str = "eager") -> TransformersEngine:
    options = {"config": {"model_type": "llama", "hidden_size": 8}}
    made = TransformersEngine(EngineSettings(options, batch, 7, quiet))
    made.load()
    return made


def test_every_step_is_timed_and_sequences_share_the_times(model: Model) -> None:
    batches: list[int] = []
    requests = [Request(str(number), "prompt", 4, 3) for number in range(3)]
    replies = engine().serve(requests, lambda: batches.append(1))
    assert [reply.output for reply in replies] == ["4,5,6"] * 3
    assert replies[0].token_ns == replies[1].token_ns != replies[2].token_ns
    assert [reply.output_tokens for reply in replies] == [3, 3, 3]
    assert len(batches) == 2
    assert len(model.calls) == 2 * 3
    assert model.calls[1]["past_key_values"] == "cache"


@pytest.mark.parametrize(("wanted", "ids"), [(2, [97, 98]), (5, [97, 98, 99, 97, 98]), (0, [97, 98, 99])])
def test_prompts_are_cut_or_repeated_to_the_length_asked_for(
    model: Model, wanted: int, ids: list[int]
) -> None:
    engine().serve([Request("1", "abc", wanted, 1)], list)
    assert model.calls[0]["input_ids"].rows == [ids]


def test_a_batch_of_unequal_prompts_says_what_to_set(model: Model) -> None:
    requests = [Request("1", "abc", 0, 1), Request("2", "abcdef", 0, 1)]
    with pytest.raises(ValueError, match="3 to 6 tokens, expected equal lengths; set input_tokens"):
        engine().serve(requests, list)
    assert not model.calls


@pytest.mark.usefixtures("model")
def test_graphs_without_a_gpu_are_said_to_have_no_effect() -> None:
    assert engine(quiet="graphs").notes() == (
        "quiet = graphs has no effect without a CUDA device: decoded in eager mode",
    )
    assert engine().notes() == ()


def test_a_static_decoder_asks_for_positions_only_where_the_model_takes_them() -> None:
    def forward(input_ids: object, cache_position: object) -> None:
        del input_ids, cache_position

    taking = StaticDecoder(None, SimpleNamespace(forward=forward), object)
    plain = StaticDecoder(None, SimpleNamespace(forward=lambda input_ids: input_ids), object)
    assert (taking._takes_position, plain._takes_position) == (True, False)
