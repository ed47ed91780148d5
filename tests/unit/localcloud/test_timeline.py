"""The table of every job's way."""

import io

from rich.console import Console

from localcloud.quickstart import timeline

STEPS = ("planned", "sent", "active", "healthy", "ready", "busy", "ended", "deleted")


def printed(width: int) -> str:
    key, late = "github:acme/inference:35000000007", 1_234.5
    times = {step: 1_000.0 + late * number for number, step in enumerate(STEPS)}
    vms = [
        {"name": "gpu-github-jfssp00004", "market": "spot", "cause": "job-done", "job": f"{key}:1"},
        {"name": "gpu-github-jfssp00005", "market": "on-demand", "cause": "job-done", "job": f"{key}:2"},
        {"name": "gpu-github-jfssp00006", "market": "spot", "cause": "job-gone", "job": "unknown"},
    ]
    job = {"name": "inference (long)", "forge": "github", "queued_at": 999.5}
    facts = {
        "jobs": [{**job, "key": f"{key}:{attempt}"} for attempt in (1, 2)],
        "vms": [
            {**vm, "reclaim_at": 1.0 if place == 0 else None, "times": dict(list(times.items())[: 5 + place])}
            for place, vm in enumerate(vms)
        ],
        "totals": {"eur_today": 0.0123, "saved_today": 0.0045},
    }
    text = io.StringIO()
    timeline.show(Console(file=text, width=width, highlight=False), facts)
    return text.getvalue()


def test_it_fits_its_width_with_long_times() -> None:
    rows = printed(timeline.WIDTH).splitlines()
    assert max(len(row.rstrip()) for row in rows if "✓" not in row) <= timeline.WIDTH
    text = "\n".join(rows)
    assert "…" not in text.replace("queued to …", "")
    for part in (
        "gpu-github-jfssp00004",
        "spot, reclaimed",
        "on-demand, job-done",
        "GitHub, attempt 2",
        "1235",
        "0.0045 EUR",
    ):
        assert part in text, part


def test_a_machine_without_a_job_and_a_step_without_a_time_stay_empty() -> None:
    (row,) = [line for line in printed(timeline.WIDTH).splitlines() if "jfssp00006" in line]
    assert "—" in row
    assert row.split()[2:] == ["1234", "2469", "3704", "4938", "6172", "7407"]
