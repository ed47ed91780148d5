"""Models of the verdict runs: on the base commit all are the same, on the candidate's each has its own fault.

Copied into a repository of its own together with `injected.json`, which is empty on the base commit.
"""

import json
import time
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

STEP_MS = 2.5
"""Time of one decode step in the calibration, of which the injected slow-downs are shares."""
CYCLES_PER_MS = 1_980_000
SIZES = {"hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16, "num_key_value_heads": 8}
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def build(name: str, layers: int = 16) -> Any:
    """Return the model, with the fault that `injected.json` names for `name`."""
    torch.manual_seed(7)
    sizes = SIZES if DEVICE == "cuda" else {key: value // 8 for key, value in SIZES.items()}
    config = AutoConfig.for_model("llama", num_hidden_layers=layers, vocab_size=32000, **sizes)
    with torch.device(DEVICE):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16, attn_implementation="sdpa")
    kind, amount = json.loads(Path("injected.json").read_text(encoding="utf-8")).get(name, ("none", 0))
    FAULTS[kind](model, amount)
    return model


def none(_model: Any, _amount: float) -> None:
    """Change nothing."""


def slow(model: Any, share: float) -> None:
    """Keep the GPU busy for a share of the step longer."""

    def after(*_: Any) -> None:
        if DEVICE == "cuda":
            torch.cuda._sleep(int(share * STEP_MS * CYCLES_PER_MS))  # noqa: SLF001 - PyTorch's own test helper
        else:
            time.sleep(share * STEP_MS / 1000)

    model.register_forward_hook(after)


def fat(model: Any, mib: float) -> None:
    """Hold more memory."""
    model.register_buffer("extra", torch.empty(int(mib * 2**20), dtype=torch.uint8, device=DEVICE))


def leak(model: Any, mib: float) -> None:
    """Keep something of every prompt."""
    kept: list[Any] = []

    def before(_model: Any, _arguments: Any, named: dict[str, Any]) -> None:
        if named["input_ids"].shape[1] > 1:
            kept.append(torch.empty(int(mib * 2**20), dtype=torch.uint8, device=DEVICE))

    model.register_forward_pre_hook(before, with_kwargs=True)


def wrong(model: Any, _amount: float) -> None:
    """Answer something else."""
    with torch.no_grad():
        model.lm_head.weight.neg_()


FAULTS = {"none": none, "slow": slow, "fat": fat, "leak": leak, "wrong": wrong}


def slow3() -> Any:
    """Return the model that becomes 3 % slower."""
    return build("slow3")


def slow5() -> Any:
    """Return the model that becomes 5 % slower."""
    return build("slow5")


def slow75() -> Any:
    """Return the model that becomes 7.5 % slower."""
    return build("slow75")


def slow10() -> Any:
    """Return the model that becomes 10 % slower."""
    return build("slow10")


def vram1() -> Any:
    """Return the model that needs 0.9 % more memory."""
    return build("vram1")


def vram5() -> Any:
    """Return the model that needs 5 % more memory."""
    return build("vram5")


def leaks() -> Any:
    """Return a small model that keeps 2 MiB of every batch."""
    return build("leaks", layers=2)


def wrongs() -> Any:
    """Return the model that answers something else."""
    return build("wrongs")
