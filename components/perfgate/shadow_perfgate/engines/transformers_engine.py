"""Hugging Face transformers in this process: any causal model, or random weights without a download."""

import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from shadow_perfgate.engines.base import EngineSettings, Reply, Request, batches
from shadow_perfgate.engines.callables import resolve
from shadow_perfgate.engines.decoders import CompiledDecoder, EagerDecoder, GraphDecoder


class TransformersEngine:
    """Generates greedily with `AutoModelForCausalLM`.

    Options: `model` (a folder or name), `config` (a table with `model_type` and sizes, random weights) or
    `load` (a function of the checkout that returns the model); `dtype`, `device`, `attention`, `tokenizer`
    (`bytes` for none).
    """

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._torch: Any = None
        self._model: Any = None
        self._tokenizer: Any = None
        self._decoder: Any = None

    def load(self) -> None:
        """Build or read the model and choose the way of decoding."""
        torch: Any = importlib.import_module("torch")
        transformers: Any = importlib.import_module("transformers")
        self._torch = torch
        self._model = build(torch, transformers, self._settings).eval()
        self._tokenizer = self._find_tokenizer(transformers)
        self._decoder = self._find_decoder(transformers)

    def _find_tokenizer(self, transformers: Any) -> Any:
        options = self._settings.options
        name = options.get("tokenizer", options.get("model", "bytes"))
        return None if name == "bytes" else transformers.AutoTokenizer.from_pretrained(name)

    def _find_decoder(self, transformers: Any) -> Any:
        quiet = self._settings.quiet
        if quiet == "eager" or (quiet == "graphs" and self._model.device.type != "cuda"):
            return EagerDecoder(self._torch, self._model)
        kind = GraphDecoder if quiet == "graphs" else CompiledDecoder
        return kind(self._torch, self._model, transformers.StaticCache)

    def serve(self, requests: Sequence[Request], after_batch: Callable[[], None]) -> list[Reply]:
        """Generate for all requests, one batch after another."""
        replies: list[Reply] = []
        with self._torch.inference_mode():
            for batch in batches(requests, self._settings.batch):
                replies += self._one(batch)
                after_batch()
        return replies

    def _one(self, batch: Sequence[Request]) -> list[Reply]:
        rows_of_ids = [self._ids(request) for request in batch]
        lengths = {len(ids) for ids in rows_of_ids}
        if len(lengths) > 1:
            raise ValueError(
                f"prompts of a batch have {min(lengths)} to {max(lengths)} tokens, expected equal lengths; "
                "set input_tokens, to which prompts are cut or repeated, or batch = 1"
            )
        prompt = self._torch.tensor(rows_of_ids, device=self._model.device)
        sent = time.monotonic_ns()
        times: list[int] = []
        steps: list[list[int]] = []
        for tokens in self._decoder.steps(prompt, batch[0].output_tokens):
            times.append(time.monotonic_ns())
            steps.append(tokens)
        done = times[-1]
        rows = [",".join(map(str, row)) for row in zip(*steps, strict=True)]
        width = int(prompt.shape[1])
        return [Reply(sent, tuple(times), done, len(steps), row, input_tokens=width) for row in rows]

    def _ids(self, request: Request) -> list[int]:
        if self._tokenizer is None:
            size = int(self._model.config.vocab_size)
            found = [byte % size for byte in request.prompt.encode()]
        else:
            found = cast("list[int]", self._tokenizer(request.prompt)["input_ids"])
        wanted = request.input_tokens or len(found)
        return (found * (wanted // len(found) + 1))[:wanted]

    def figures(self) -> dict[str, float]:
        """Return the size of the weights on the GPU."""
        if self._model.device.type != "cuda":
            return {}
        tensors = (*self._model.parameters(), *self._model.buffers())
        return {"model_weights": sum(tensor.nbytes for tensor in tensors) / 2**20}

    def notes(self) -> tuple[str, ...]:
        """Say so when the quiet mode asked for has no effect on this device."""
        if self._settings.quiet == "graphs" and isinstance(self._decoder, EagerDecoder):
            return ("quiet = graphs has no effect without a CUDA device: decoded in eager mode",)
        return ()

    def close(self) -> None:
        """Drop the model, so that its memory can be seen to go away."""
        self._model = self._decoder = None


def build(torch: Any, transformers: Any, settings: EngineSettings) -> Any:
    """Return the model named by the options, on its device."""
    options = settings.options
    torch.manual_seed(settings.seed)
    if "load" in options:
        return resolve(str(options["load"]))()
    device = options.get("device") or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype = getattr(torch, str(options.get("dtype", "bfloat16" if device != "cpu" else "float32")))
    attention = options.get("attention", "sdpa")
    if "config" not in options:
        name = str(options["model"])
        found = transformers.AutoModelForCausalLM.from_pretrained(
            name, dtype=dtype, attn_implementation=attention
        )
        return found.to(device)
    table = dict(cast("Mapping[str, Any]", options["config"]))
    config = transformers.AutoConfig.for_model(table.pop("model_type", "llama"), **table)
    with torch.device(device):
        return transformers.AutoModelForCausalLM.from_config(
            config, dtype=dtype, attn_implementation=attention
        )
