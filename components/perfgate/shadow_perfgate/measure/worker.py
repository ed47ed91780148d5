"""The fresh process: `python -m shadow_perfgate.measure.worker PLAN RESULT`, both JSON files.

Runs in the environment of the measured code, so it imports the standard library and the engine's own packages
only. Moments are `time.monotonic_ns`, the machine's clock, by which the parent places its samples.
"""

import json
import platform
import resource
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

from shadow_perfgate.engines.base import Engine, Reply
from shadow_perfgate.engines.torch_probe import TorchProbe
from shadow_perfgate.measure import figures, quiet
from shadow_perfgate.measure.plan import Plan, WarmUpLimits
from shadow_perfgate.measure.prompts import PromptSet
from shadow_perfgate.measure.warmup import warm_up

ENGINES: Final = {
    "callable": ("shadow_perfgate.engines.callables", "CallableEngine"),
    "transformers": ("shadow_perfgate.engines.transformers_engine", "TransformersEngine"),
    "openai": ("shadow_perfgate.engines.openai", "OpenAiEngine"),
}
Pass = tuple[int, int, list[Reply]]


def nothing() -> None:
    """Do nothing between batches."""


class Worker:
    """Runs one plan from loading to unloading."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.requests = plan.requests()
        module, name = ENGINES[plan.engine]
        self.engine: Engine = getattr(import_module(module), name)(plan.settings())
        self.probe = TorchProbe()
        self.quiescent: list[float] = []
        self.host: list[float] = []
        self.moments: list[int] = []

    def run(self) -> dict[str, Any]:
        """Return everything measured, ready for JSON."""
        began = time.monotonic_ns()
        self.engine.load()
        self.probe = TorchProbe()
        self.probe.synchronize()
        found: dict[str, Any] = {"start_time": (time.monotonic_ns() - began) / 1e9}
        warmup = warm_up(lambda: figures.of_pass(self.one_pass()[2]), self.plan.warmup)
        self.probe.reset_peaks()
        with quiet.collector_off():
            passes = [self.one_pass() for _ in range(self.plan.passes)]
        found |= summary(passes) | {"warmup": asdict(warmup), "peaks": self.probe.peaks()}
        found["metrics"] |= self.engine.figures()
        found["kernel"] = self.kernel_share() if self.plan.gpu_time else None
        # What loading left behind is frozen, so that collecting after every batch is quick.
        with quiet.collector_off():
            self.leak_batches()
        found |= {"quiescent": self.quiescent, "host_quiescent": self.host, "quiescent_ns": self.moments}
        found |= {"notes": self.engine.notes(), "software": software(), "sources": sources()}
        self.engine.close()
        return found | {"residual_mib": self.probe.quiescent()}

    def one_pass(self, after_batch: Callable[[], None] = nothing, requests: int | None = None) -> Pass:
        """Serve all requests once, or the first ones, and return (start, end, replies)."""
        start = time.monotonic_ns()
        replies = self.engine.serve(self.requests[:requests], after_batch)
        self.probe.synchronize()
        return start, time.monotonic_ns(), replies

    def kernel_share(self) -> dict[str, float] | None:
        """Return the GPU's busy time in one batch, beside the same batch's wall time without the profiler."""
        if not self.probe.present:
            return None
        plain = self.one_pass(requests=self.plan.batch)
        busy = self.probe.kernel_seconds(lambda: self.one_pass(requests=self.plan.batch))
        if busy is None:
            return None
        wall = (plain[1] - plain[0]) / 1e9
        steps = self.plan.output_tokens
        return {"gpu_ms_per_token": busy * 1000 / steps, "host_bound_share": max(0.0, 1 - busy / wall)}

    def leak_batches(self) -> None:
        """Serve the batches of the leak test and note the memory after each."""
        while len(self.moments) < self.plan.leak_batches:
            self.one_pass(self.note_memory)

    def note_memory(self) -> None:
        """Note the memory in use while no request is in flight."""
        held = self.probe.quiescent()
        if held is not None:
            self.quiescent.append(held)
        self.host.append(_resident_mib())
        self.moments.append(time.monotonic_ns())


def _resident_mib() -> float:
    """Return the resident memory of this process in MiB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def summary(passes: list[Pass]) -> dict[str, Any]:
    """Return metrics, raw values, windows and the output's digest of the timed passes."""
    replies = [reply for _, _, served in passes for reply in served]
    values = figures.raw(replies)
    digests = [digest(served) for _, _, served in passes]
    return {
        "metrics": figures.latencies(values, len(replies)) | figures.rates(passes),
        "samples": {kind: figures.thinned(numbers) for kind, numbers in values.items() if numbers},
        "streams": bool(values["itl"]),
        "requests": len(replies),
        "windows": [(start, end) for start, end, _ in passes],
        "digest": digests[0] if len(set(digests)) == 1 else "",
        "digests": sorted(set(digests)),
        "first_error": next((reply.error for reply in replies if reply.error), ""),
    }


def digest(replies: list[Reply]) -> str:
    """Return the SHA-256 over all outputs in the order of the prompts."""
    return sha256("\x1e".join(reply.output for reply in replies).encode()).hexdigest()


def software() -> dict[str, str]:
    """Return the versions that belong to the fingerprint, of what is loaded in this process."""
    found = {"python": platform.python_version()}
    for name in ("torch", "transformers"):
        module = sys.modules.get(name)
        if module is not None:
            found[name] = str(module.__version__)
    torch: Any = sys.modules.get("torch")
    return found | ({"cuda": str(torch.version.cuda)} if torch is not None and torch.version.cuda else {})


def sources() -> list[str]:
    """Return the folders of loaded modules that are neither Python's, nor installed, nor ours."""
    known = (*map(Path, {sys.prefix, sys.base_prefix, sys.exec_prefix}), Path(__file__).parents[1])
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    folders = {Path(file).absolute().parent for file in files if isinstance(file, str)}
    return sorted(str(folder) for folder in folders if not any(folder.is_relative_to(root) for root in known))


def read_plan(path: Path) -> Plan:
    """Return the plan that the parent wrote."""
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    prompts: dict[str, Any] = table.pop("prompts")
    limits: dict[str, Any] = table.pop("warmup")
    texts = tuple((key, text) for key, text in cast("list[list[str]]", prompts["prompts"]))
    return Plan(
        **table,
        prompts=PromptSet(prompts["source"], prompts["sha256"], texts),
        warmup=WarmUpLimits(**limits),
    )


def run(plan_file: Path, result: Path) -> int:
    """Run the plan of the first file, write what was measured into the second and return the exit code."""
    plan = read_plan(plan_file)
    quiet.pin(plan.cores)
    try:
        found = Worker(plan).run()
    except Exception as error:  # noqa: BLE001 - whatever the measured code raises is reported, not interpreted
        found = {"error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc(limit=-6)}
    result.write_text(json.dumps(found), encoding="utf-8")
    return 1 if "error" in found else 0


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1]), Path(sys.argv[2])))
