"""Did the GPU slow itself down during a run? Judged from what the sampler saw in the measured windows."""

from collections.abc import Sequence

from shadow_perfgate.guard.nvml import OBSERVED, THROTTLES

CONSECUTIVE = 2
"""Samples in a row that make a reason count; a single one also shows at changes of the power state."""
LOWEST_SHARE = 0.75
"""Share of the maximum clock below which a run without power cap was made on a slowed-down GPU."""


def shares(events: Sequence[int]) -> dict[str, float]:
    """Return for each clock-event reason seen the share of the samples that had it."""
    names = {**THROTTLES, **OBSERVED}
    found = {
        name: sum(1 for seen in events if seen & bit) / len(events) for bit, name in names.items() if events
    }
    return {name: share for name, share in found.items() if share}


def discard(events: Sequence[int], clocks: Sequence[float], highest_clock: float | None) -> str:
    """Return why the run must not count, or nothing."""
    reasons = [name for bit, name in THROTTLES.items() if _lasting(events, bit)]
    if reasons:
        return f"throttled: {', '.join(reasons)}"
    capped = sum(1 for seen in events if seen & 0x4) * 2 > len(events)
    if capped or not clocks or not highest_clock:
        return ""
    middle = sorted(clocks)[len(clocks) // 2]
    if middle >= LOWEST_SHARE * highest_clock:
        return ""
    limit = f"under {LOWEST_SHARE:.0%} of {highest_clock:.0f} MHz without a power cap"
    return f"clocked down: SM clock {middle:.0f} MHz, {limit}"


def _lasting(events: Sequence[int], bit: int) -> bool:
    streak = 0
    for seen in events:
        streak = streak + 1 if seen & bit else 0
        if streak >= CONSECUTIVE:
            return True
    return False
