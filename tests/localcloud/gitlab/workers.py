"""Work that no request asks for: webhooks to send, and jobs that nobody will finish."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from localcloud.gitlab import jobs, matching, triggers
from localcloud.gitlab.clock import parse_time
from localcloud.gitlab.delivery import Deliverer
from localcloud.gitlab.instance import Instance
from localcloud.gitlab.store import Row

TICK_S = 1.0
PENDING_LIMIT_S = 24 * 3600
NO_RUNNER_LIMIT_S = 3600
SILENCE_LIMIT_S = 3600


@contextlib.asynccontextmanager
async def running(instance: Instance) -> AsyncGenerator[None]:
    """Run the workers while the server is up; unfinished business of an earlier run comes first."""
    triggers.recover(instance)
    tasks = [asyncio.create_task(Deliverer(instance).run()), asyncio.create_task(_watch(instance))]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _watch(instance: Instance) -> None:
    while True:
        drop_stuck_jobs(instance)
        await asyncio.sleep(TICK_S)


def drop_stuck_jobs(instance: Instance) -> list[int]:
    """Fail jobs that waited too long, ran too long, or whose runner went silent; gives their ids."""
    sql = "SELECT * FROM jobs WHERE status IN ('pending', 'running', 'canceling')"
    dropped = [(row, reason) for row in instance.store.query(sql) if (reason := _why_stuck(instance, row))]
    for row, reason in dropped:
        jobs.finish(instance, row, "canceled" if row["status"] == "canceling" else "failed", reason)
    return [row["id"] for row, _ in dropped]


def _why_stuck(instance: Instance, row: Row) -> str | None:
    now = instance.clock.now()
    if row["status"] == "pending":
        waited = (now - parse_time(row["queued_at"])).total_seconds()
        lonely = waited > NO_RUNNER_LIMIT_S and not matching.candidates(instance, row)
        return "stuck_or_timeout_failure" if lonely or waited > PENDING_LIMIT_S else None
    silent = (now - parse_time(row["contacted_at"])).total_seconds()
    ran = (now - parse_time(row["started_at"])).total_seconds()
    if silent > SILENCE_LIMIT_S:
        return "stuck_or_timeout_failure"
    return "job_execution_timeout" if ran > row["timeout_s"] + SILENCE_LIMIT_S else None
