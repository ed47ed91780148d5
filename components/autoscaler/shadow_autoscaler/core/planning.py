"""Which jobs get a VM now: free VMs first, then new ones in fair order within every limit, then warm ones."""

import heapq
from collections import Counter
from dataclasses import dataclass, replace

from shadow_autoscaler.core import ladder, windows
from shadow_autoscaler.core.binding import bind, is_free
from shadow_autoscaler.core.blockers import job_block, pool_block
from shadow_autoscaler.core.breaker import mend
from shadow_autoscaler.core.closing import close
from shadow_autoscaler.core.draft import Draft
from shadow_autoscaler.core.intents import CreateServer
from shadow_autoscaler.core.jobs import ForgeKind, Job
from shadow_autoscaler.core.machines import Cause, Market, Phase, Vm
from shadow_autoscaler.core.names import vm_name
from shadow_autoscaler.core.pools import Pool
from shadow_autoscaler.core.room import Room, pool_room, total_room


def plan(draft: Draft) -> None:
    """Serve the backlog and the wish for warm VMs as far as the limits allow."""
    for pool in draft.deployment.pools:
        mend(draft, pool)
        _serve_from_free(draft, pool)
    _trim_released(draft)
    _create_for_backlog(draft)
    for pool in draft.deployment.pools:
        if pool.idle:
            _warm(draft, pool)


def _serve_from_free(draft: Draft, pool: Pool) -> None:
    if next(draft.unserved(pool.name), None) is None or draft.pool_state(pool.name).drained:
        return
    free = sorted((vm for vm in draft.live(pool.name) if is_free(vm)), key=_most_advanced)
    if not free:
        return
    jobs = _waiting(draft, pool)
    for job in _fair(jobs, _active(draft)):
        vm = next((vm for vm in free if _suits(draft, job, pool, vm)), None)
        if vm is not None:
            free.remove(vm)
            bind(draft, job, vm)
        if not free:
            return


def _waiting(draft: Draft, pool: Pool) -> list[Job]:
    return [job for job in draft.unserved(pool.name) if not job_block(draft, job, pool)]


def _most_advanced(vm: Vm) -> tuple[int, float, str]:
    return -vm.phase, vm.planned_at, vm.name


def _suits(draft: Draft, job: Job, pool: Pool, vm: Vm) -> bool:
    return vm.market is Market.ON_DEMAND or not ladder.on_demand_needed(job, pool, draft.deployment)


def _active(draft: Draft) -> Counter[str]:
    return Counter(vm.job.project for vm in draft.all_live() if vm.job is not None)


def _fair(jobs: list[Job], active: Counter[str]) -> list[Job]:
    """Order jobs so that the repository with the fewest VMs comes next, its oldest job first."""
    backlog = Backlog.of(jobs, active)
    return list(iter(backlog.take, None))


@dataclass(slots=True)
class Backlog:
    """Waiting jobs by repository; a repository that was given a VM goes behind those with fewer."""

    heap: list[tuple[int, float, str]]
    jobs: dict[str, list[tuple[float, Job]]]

    @classmethod
    def of(cls, jobs: list[Job], active: Counter[str]) -> "Backlog":
        """Sort jobs into repositories."""
        by_project: dict[str, list[tuple[float, Job]]] = {}
        ordered = sorted(jobs, key=lambda job: (job.facts.queued_at, job.key), reverse=True)
        for job in ordered:
            by_project.setdefault(job.key.project, []).append((job.facts.queued_at, job))
        heap = [(active[project], queue[-1][0], project) for project, queue in by_project.items()]
        heapq.heapify(heap)
        return cls(heap, by_project)

    def take(self) -> Job | None:
        """Return the next job; its repository counts one VM more."""
        if not self.heap:
            return None
        count, _, project = heapq.heappop(self.heap)
        queue = self.jobs[project]
        _, job = queue.pop()
        if queue:
            heapq.heappush(self.heap, (count + 1, queue[-1][0], project))
        return job


def _create_for_backlog(draft: Draft) -> None:
    total = total_room(draft)
    rooms = _rooms(draft) if total else {}
    quota = Room.of(draft) if rooms else None
    if quota is None:
        return
    growing = [pool for pool, _ in rooms.values() if _can_grow(draft, pool, quota)]
    jobs = [job for pool in growing for job in _waiting(draft, pool)]
    if not jobs:
        return
    backlog = Backlog.of(jobs, _active(draft))
    while total and any(room for _, room in rooms.values()):
        job = backlog.take()
        if job is None:
            return
        pool, room = rooms[job.pool]
        if room and _create(draft, pool, job, quota):
            rooms[job.pool] = (pool, room - 1)
            total -= 1
        elif room and not _can_grow(draft, pool, quota):
            rooms[job.pool] = (pool, 0)


def _can_grow(draft: Draft, pool: Pool, quota: Room) -> bool:
    """Whether any rung is open and fits, so that a long backlog is looked at only when that can help."""
    return any(not quota.lacks(rung) and ladder.is_open(draft, pool, rung) for rung in pool.ladder)


def _rooms(draft: Draft) -> dict[str, tuple[Pool, int]]:
    rooms: dict[str, tuple[Pool, int]] = {}
    for pool in draft.deployment.pools:
        if next(draft.unserved(pool.name), None) is None or pool_block(draft, pool):
            continue
        room = pool_room(draft, pool)
        if room:
            rooms[pool.name] = (pool, room)
    return rooms


def _create(draft: Draft, pool: Pool, job: Job | None, quota: Room) -> bool:
    step = ladder.choose(draft, pool, job)
    if step is None or quota.lacks(step.rung):
        return False
    quota.take(step.rung)
    vm = Vm(
        name=vm_name(draft.deployment, pool.name, draft.next_number()),
        pool=pool.name,
        rung=step.index,
        flavor=step.rung.flavor,
        market=step.rung.market,
        phase=Phase.PLANNED,
        planned_at=draft.now,
        zone=step.zone,
        eur_per_hour=step.rung.eur_per_hour,
    )
    draft.put_vm(vm)
    if job is not None:
        bind(draft, replace(job, tries=job.tries + 1), vm)
    draft.emit(CreateServer(vm.name))
    where = f" in {vm.zone}" if vm.zone else ""
    draft.note(vm.name, f"asked for as {vm.flavor} ({vm.market}){where} for {job.key if job else 'warm use'}")
    return True


def _warm(draft: Draft, pool: Pool) -> None:
    if pool_block(draft, pool) or next(draft.unserved(pool.name), None) is not None:
        return
    missing = windows.wanted(pool, draft.now) - sum(is_free(vm) for vm in draft.live(pool.name))
    if missing <= 0:
        return
    missing = min(missing, pool_room(draft, pool), total_room(draft))
    quota = Room.of(draft)
    for _ in range(missing):
        if not _create(draft, pool, None, quota):
            return


def _trim_released(draft: Draft) -> None:
    """Give up VMs whose job has gone, unless another job or the wish for warm VMs has taken them."""
    for name in draft.released:
        vm = draft.vm(name)
        if vm is None or not is_free(vm):
            continue
        pool = draft.pool_of(vm)
        # GitLab removes a busy manager as well as an idle one, so nothing would stop a job that starts just
        # now: the machine waits for another job until its runner's own time is up.
        if pool is not None and pool.forge is ForgeKind.GITLAB and vm.phase is Phase.READY:
            continue
        free = sum(is_free(one) for one in draft.live(vm.pool))
        if pool is None or draft.pool_state(vm.pool).drained or free > windows.wanted(pool, draft.now):
            close(draft, vm, Cause.JOB_GONE, "its job went away, and no other waits")
