"""What the noise of a session comes from, and what would lower it; put into the session's notes."""

from collections.abc import Sequence
from statistics import fmean, median, stdev

from shadow_perfgate.measure.plan import Plan
from shadow_perfgate.model import Run, WarmUp

HOST_BOUND = 0.3
"""Share of wall time without GPU work from which the wall clock measures the host."""
NOISY = 0.02


def spread(runs: Sequence[Run], metric: str) -> float | None:
    """Return the coefficient of variation between runs."""
    values = [run.metrics[metric] for run in runs if metric in run.metrics]
    return stdev(values) / fmean(values) if len(values) > 2 and fmean(values) > 0 else None


def notes(plan: Plan, runs: Sequence[Run], warmups: Sequence[WarmUp]) -> tuple[str, ...]:
    """Return the noise found and what lowers it."""
    return (*_done(plan), *_bound(plan, runs), *_noise(runs), *_warmth(plan, warmups))


def _done(plan: Plan) -> list[str]:
    # Only graphs were calibrated: docs/reference/perf-gate-gpu.md.
    modes = {
        "graphs": "captured CUDA graphs",
        "compile": "torch.compile, whose noise was never calibrated on a GPU: try an unchanged commit first",
    }
    done = [modes[plan.quiet]] if plan.quiet in modes and plan.engine == "transformers" else []
    done += [f"pinned to {plan.cores} cores"] if plan.cores else []
    return [f"quietened by {' and '.join(done)}"] if done else []


def _bound(plan: Plan, runs: Sequence[Run]) -> list[str]:
    shares = [run.metrics["host_bound_share"] for run in runs if "host_bound_share" in run.metrics]
    if not shares:
        return []
    share = median(shares)
    if share < HOST_BOUND:
        return [f"bound by the GPU: it is busy {1 - share:.0%} of the time"]
    remedy = {
        "eager": 'set quiet = "graphs", a larger batch or cores = 4, or gate gpu_ms_per_token',
        "graphs": "take a larger batch or model, or gate gpu_ms_per_token",
    }.get(plan.quiet, "gate gpu_ms_per_token, or take a larger batch")
    return [
        f"bound by the host: the GPU waits {share:.0%} of the time, so wall time measures the CPU; {remedy}"
    ]


def _noise(runs: Sequence[Run]) -> list[str]:
    named = {
        name: spread(runs, name) for name in ("itl_median", "tpot_median", "ttft_median", "gpu_ms_per_token")
    }
    noisy = [f"{name} {value:.1%}" for name, value in named.items() if value is not None and value > NOISY]
    return [f"noise between fresh processes (CV): {', '.join(noisy)}"] if noisy else []


def _warmth(plan: Plan, warmups: Sequence[WarmUp]) -> list[str]:
    cold = sum(1 for warmup in warmups if not warmup.stable)
    if not cold:
        return []
    limits = plan.warmup
    wanted = f"the last {limits.agreeing} within {limits.tolerance:.0%}"
    found = f"{cold} of {len(warmups)} runs were not steady after {limits.most} warm-up passes"
    return [f"{found} (wanted {wanted}); raise warmup_most or the output tokens per pass"]
