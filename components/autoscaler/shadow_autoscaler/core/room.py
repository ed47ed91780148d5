"""How many more VMs may be created: pool, deployment and project each have a limit."""

from collections.abc import Iterator
from dataclasses import dataclass

from shadow_autoscaler.core.breaker import half_open
from shadow_autoscaler.core.draft import Draft
from shadow_autoscaler.core.machines import Phase, Vm
from shadow_autoscaler.core.pools import Pool, Rung
from shadow_autoscaler.core.quota import Quota

UNLIMITED = 1_000_000_000


def pool_room(draft: Draft, pool: Pool) -> int:
    """Return how many VMs the pool may get; VMs in BUILD and DELETING count, as the cloud counts them."""
    room = pool.max - draft.live_count(pool.name)
    if half_open(draft, pool):
        trying = any(vm.phase < Phase.BUSY for vm in draft.live(pool.name))
        return 0 if trying else min(room, 1)
    return max(0, room)


def total_room(draft: Draft) -> int:
    """Return how many VMs all pools together may get."""
    most = draft.deployment.max_vms
    if not most:
        return UNLIMITED
    return max(0, most - sum(draft.live_count(pool) for pool in draft.live_pools()))


@dataclass(slots=True)
class Room:
    """What the project's quota leaves, less what was asked for since it was read."""

    instances: int
    cores: int
    ram_mib: int
    ports: int

    @classmethod
    def of(cls, draft: Draft) -> "Room":
        """Return the room as far as it is known; what cannot be read does not limit."""
        quota = draft.quota or draft.state.quota
        if quota is None:
            return cls(UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED)
        room = cls(_limit(quota.instances), _limit(quota.cores), _limit(quota.ram_mib), _limit(quota.ports))
        for vm in draft.all_live():
            if _unseen(vm, quota):
                room.take(_rung(draft, vm))
        for vm in _freed(draft, quota):
            room.take(_rung(draft, vm), -1)
        return room

    def lacks(self, rung: Rung) -> str:
        """Return what the quota lacks for one more VM of that flavor; empty when it fits."""
        if self.instances < 1:
            return "instances"
        if self.cores < rung.vcpus:
            return "cores"
        if self.ram_mib < rung.ram_mib:
            return "ram"
        return "ports" if self.ports < 1 else ""

    def take(self, rung: Rung | None, vms: int = 1) -> None:
        """Count one more VM, or one less."""
        self.instances -= vms
        self.ports -= vms
        if rung is not None:
            self.cores -= vms * rung.vcpus
            self.ram_mib -= vms * rung.ram_mib


def _limit(room: int | None) -> int:
    return UNLIMITED if room is None else room


def _unseen(vm: Vm, quota: Quota) -> bool:
    if vm.phase is Phase.DELETING and not vm.server_id:
        return False
    return vm.created_at is None or vm.created_at >= quota.read_at


def _freed(draft: Draft, quota: Quota) -> Iterator[Vm]:
    """Yield VMs that the quota still counted and that are gone by now."""
    for name in reversed(draft.state.index.gone):
        vm = draft.state.vms[name]
        if (vm.deleted_at or 0.0) <= quota.read_at:
            break
        if vm.created_at is not None and vm.created_at < quota.read_at:
            yield vm
    for vm in draft.vms.values():
        old = draft.state.vms.get(vm.name)
        now_gone = not vm.live and (old is None or old.live)
        if now_gone and vm.created_at is not None and vm.created_at < quota.read_at:
            yield vm


def _rung(draft: Draft, vm: Vm) -> Rung | None:
    pool = draft.pool_of(vm)
    if pool is None or vm.rung >= len(pool.ladder):
        return None
    return pool.ladder[vm.rung]
