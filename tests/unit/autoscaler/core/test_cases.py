"""Cases 1, 5, 6 and 12 of the autoscaler's input cases, at the core."""

from dataclasses import replace

import pytest
from unit.autoscaler.core.samples import CAPACITY, DEPLOYMENT, P1, SPOT
from unit.autoscaler.core.world import World

from shadow_autoscaler.core import events as ev
from shadow_autoscaler.core import intents as to
from shadow_autoscaler.core.creation import MAX_CREATES
from shadow_autoscaler.core.faults import Failure, FailureKind
from shadow_autoscaler.core.machines import Cause, Market, Phase, ServerStatus
from shadow_autoscaler.core.pools import Deployment
from shadow_autoscaler.core.quota import Quota


def creates(world: World) -> int:
    return len(world.of(to.CreateServer))


# --- case 1: duplicate and re-delivered `queued` ------------------------------------------------------------


def test_case_1_one_vm_and_one_registration_for_three_deliveries() -> None:
    world = World()
    key = world.job().key
    queued = world.jobs[key]
    for _ in range(3):
        world.tell(key)
    vm = world.serve(key)
    world.finish(key)
    world.tell(key)
    world.run()
    world.now += 3600
    late = world.handle(ev.JobSeen(queued))
    assert (creates(world), len(world.of(to.Register))) == (1, 1)
    assert not late.vms
    assert not late.jobs
    assert not late.intents
    assert world.state.vms[vm.name].phase is Phase.GONE


def test_case_1_queued_after_completed_creates_nothing() -> None:
    world = World()
    queued = world.job()
    world.finish(queued.key, "cancelled")
    world.tell(queued.key)
    world.handle(ev.JobSeen(queued))
    assert not creates(world)


# --- case 5: spot shortage as asynchronous ERROR, then on-demand --------------------------------------------


def test_case_5_error_server_goes_before_the_second_create_and_the_rung_cools_down() -> None:
    world = World()
    key = world.queued()
    world.run()
    first = world.vm_for(key)
    world.now += 15
    world.set_server(world.machine(first.name), ServerStatus.ERROR, CAPACITY)
    world.list_servers()
    assert [type(intent) for intent in world.pending] == [to.DeleteServer, to.CreateServer]
    second = world.vm_for(key)
    assert world.state.vms[first.name].cause is Cause.SPOT_CAPACITY
    assert (second.market, second.name != first.name) == (Market.ON_DEMAND, True)
    assert not world.of(to.Register)
    world.serve(key)
    assert world.state.jobs[key].failures == 0
    assert world.state.pools["p1"].failures == 0


def test_case_5_next_job_skips_spot_until_the_cool_down_is_over() -> None:
    world = World()
    first = world.queued()
    world.carry(0, CAPACITY)
    world.run()
    assert world.vm_for(first).market is Market.ON_DEMAND
    assert world.vm_for(world.queued()).market is Market.ON_DEMAND
    world.now += P1.cooldown_s + 1
    assert world.vm_for(world.queued()).market is Market.SPOT


def test_case_5_the_zone_that_the_cloud_chose_does_not_shorten_the_cool_down() -> None:
    world = World()
    first = world.queued()
    world.run()
    machine = world.machine(world.vm_for(first).name)
    machine.server = replace(machine.server, zone="nova")
    world.set_server(machine, ServerStatus.ERROR, CAPACITY)
    world.list_servers()
    assert world.vm_for(first).market is Market.ON_DEMAND
    assert world.vm_for(world.queued()).market is Market.ON_DEMAND


def test_case_5_all_rungs_short_waits_for_the_cool_down() -> None:
    world = World()
    key = world.queued()
    for _ in P1.ladder:
        world.carry(0, CAPACITY)
    assert not world.pending
    world.wait(P1.cooldown_s + 1)
    assert world.vm_for(key).market is Market.SPOT


def test_case_5_another_zone_is_tried_before_the_next_rung() -> None:
    pool = replace(P1, ladder=(replace(SPOT, zones=("zone-a", "zone-b")), P1.ladder[1]))
    world = World(deployment=Deployment("acme-ci", (pool,)))
    key = world.queued()
    tried: list[tuple[Market, str]] = []
    for _ in range(3):
        vm = world.vm_for(key)
        tried.append((vm.market, vm.zone))
        world.carry(0, CAPACITY)
    assert tried == [(Market.SPOT, "zone-a"), (Market.SPOT, "zone-b"), (Market.ON_DEMAND, "")]


# --- case 6: which errors do not fall back ------------------------------------------------------------------

QUOTA = Failure(FailureKind.QUOTA, "Quota exceeded for cores: Requested 8, used 60 of 64", None, "cores")


@pytest.mark.parametrize("resource", ["cores", "addresses", "gigabytes"])
def test_case_6_quota_waits_on_the_same_rung(resource: str) -> None:
    world = World()
    key = world.queued()
    world.carry(0, replace(QUOTA, resource=resource))
    assert not world.pending
    assert "quota" in world.state.pools["p1"].paused_reason
    world.wait(31)
    assert world.vm_for(key).market is Market.SPOT
    assert not world.alarms


def test_case_6_quota_pause_ends_when_a_vm_of_ours_is_gone() -> None:
    world = World()
    done = world.queued()
    world.serve(done)
    waits = world.queued()
    world.carry(0, QUOTA)
    world.finish(done)
    world.tell(done)
    world.run()
    assert world.vm_for(waits).phase is Phase.BUILDING


def test_case_6_room_that_a_vm_of_ours_leaves_is_used_before_the_quota_is_read_again() -> None:
    world = World()
    done = world.queued()
    world.serve(done)
    world.now += 60
    world.handle(ev.QuotaRead(Quota(world.now, cores=0)))
    waits = world.queued()
    world.wait(10)
    assert not world.state.jobs[waits].vm
    world.finish(done)
    world.tell(done)
    world.run()
    assert world.vm_for(waits).live


@pytest.mark.parametrize(
    "text", ["Invalid image", "Flavor could not be found", "Unknown security group", "Can not find network"]
)
@pytest.mark.parametrize("later", [False, True])
def test_case_6_config_fault_breaks_the_pool_without_on_demand_spend(text: str, *, later: bool) -> None:
    world = World()
    key = world.queued()
    failure = Failure(FailureKind.CONFIG, text)
    if later:
        world.run()
        world.set_server(world.machine(world.vm_for(key).name), ServerStatus.ERROR, failure)
        world.list_servers()
        world.run()
    else:
        world.carry(0, failure)
    world.queued()
    world.wait(7200)
    assert creates(world) == 1
    assert [alarm.subject for alarm in world.alarms] == ["broken:p1"]
    assert text in world.alarms[0].text
    assert not world.state.jobs[key].vm


def test_case_6_a_changed_configuration_mends_a_broken_pool() -> None:
    world = World()
    key = world.queued()
    world.carry(0, Failure(FailureKind.CONFIG, "Invalid image"))
    world.deployment = replace(DEPLOYMENT, pools=(replace(P1, revision="image-2"), *DEPLOYMENT.pools[1:]))
    world.wait(1)
    assert world.vm_for(key).phase is Phase.PLANNED
    assert not world.state.alarms


def test_case_6_throttling_is_waited_for_as_told() -> None:
    world = World()
    key = world.queued()
    vm = world.vm_for(key).name
    world.carry(0, Failure(FailureKind.THROTTLED, "too many", 7.0))
    world.wait(6)
    assert not world.pending
    world.wait(1)
    assert world.pending == [to.CreateServer(vm, again=True)]


def test_case_6_refused_credential_alarms_once_and_goes_on_when_it_is_good_again() -> None:
    world = World()
    key = world.queued()
    for _ in range(9):
        world.carry(0, Failure(FailureKind.AUTH, "401"))
        world.wait(301)
        world.pending = [replace(one, again=False) for one in world.of(to.CreateServer)[-1:] if world.pending]
    world.run()
    assert [alarm.subject for alarm in world.alarms] == ["cloud:auth"]
    assert world.vm_for(key).phase is Phase.BUILDING
    assert world.state.pools["p1"].failures == 0


def test_case_6_server_errors_are_tried_again_a_bounded_number_of_times() -> None:
    world = World()
    key = world.queued()
    vm = world.vm_for(key).name
    for _ in range(MAX_CREATES + 1):
        world.pending = [to.CreateServer(vm)]
        world.carry(0, Failure(FailureKind.TRANSIENT, "500"))
        world.wait(301)
    assert world.state.vms[vm].phase is Phase.GONE
    assert world.state.vms[vm].cause is Cause.BOOT_FAILED


def test_case_6_one_failed_call_holds_no_other_job_up() -> None:
    world = World()
    world.queued(name="a")
    world.carry(0, Failure(FailureKind.TRANSIENT, "503"))
    second = world.queued(name="b")
    world.run()
    assert world.vm_for(second).phase is Phase.BUILDING


def test_case_6_connection_reset_looks_for_the_mark_first_and_adopts_the_server() -> None:
    world = World()
    key = world.queued()
    vm = world.vm_for(key).name
    world.carry(0, Failure(FailureKind.UNKNOWN_OUTCOME, "connection reset"))
    world.wait(31)
    assert world.pending == [to.CreateServer(vm, again=True)]
    world.run()
    assert len(world.machines) == 1
    assert world.vm_for(key).phase is Phase.BUILDING


# --- case 12: GPU not ready ---------------------------------------------------------------------------------


def boot_to_gate(world: World, vm: str) -> None:
    world.run()
    world.set_server(world.machine(vm), ServerStatus.ACTIVE)
    world.list_servers()


def test_case_12_waiting_for_the_gpu_is_no_failure() -> None:
    world = World()
    vm = world.vm_for(world.queued()).name
    boot_to_gate(world, vm)
    for _ in range(5):
        world.wait(10)
        world.handle(ev.VmReported(vm, "gpu_host", "wait", "nvidia-smi: exit 9"))
    world.handle(ev.VmReported(vm, "healthy", "ok"))
    world.ask(vm)
    assert world.state.vms[vm].phase is Phase.READY


def test_case_12_nothing_is_registered_before_the_gate_has_passed() -> None:
    world = World()
    vm = world.vm_for(world.queued()).name
    boot_to_gate(world, vm)
    world.handle(ev.VmReported(vm, "gpu_host", "ok"))
    world.handle(ev.VmReported(vm, "gpu_container", "failed", "could not select device driver"))
    world.run()
    assert not world.of(to.Register)
    assert world.state.vms[vm].cause is Cause.GPU_UNHEALTHY
    assert "could not select device driver" in world.state.vms[vm].detail


def test_case_12_the_console_log_of_a_bad_vm_is_kept_and_another_zone_is_tried() -> None:
    pool = replace(P1, ladder=(replace(SPOT, zones=("zone-a", "zone-b")),))
    world = World(deployment=Deployment("acme-ci", (pool,)))
    key = world.queued()
    first = world.vm_for(key)
    boot_to_gate(world, first.name)
    world.handle(ev.VmReported(first.name, "gpu_host", "failed", "1 of 2 GPUs"))
    [delete] = [one for one in world.pending if isinstance(one, to.DeleteServer)]
    assert delete.keep_console
    assert (first.zone, world.vm_for(key).zone) == ("zone-a", "zone-b")


def test_case_12_the_third_failure_alarms_and_burns_no_more_money() -> None:
    world = World()
    key = world.queued()
    for _ in range(3):
        vm = world.vm_for(key).name
        boot_to_gate(world, vm)
        world.handle(ev.VmReported(vm, "gpu_host", "failed", "ERR!"))
        world.run()
    world.wait(60)
    assert creates(world) == 3
    assert {alarm.subject for alarm in world.alarms} == {f"job:{key}", "breaker:p1"}
    assert not world.machines


def test_case_12_a_held_pool_tries_one_vm_and_opens_when_it_gets_its_job() -> None:
    world = World()
    keys = [world.queued(name=f"m{number}") for number in range(3)]
    world.run()
    for key in keys:
        world.handle(ev.VmReported(world.vm_for(key).name, "packages", "failed", "no route"))
    world.run()
    assert not world.machines
    world.wait(P1.breaker_s + 1)
    world.run()
    assert len(world.machines) == 1
    [key] = [key for key in keys if world.state.jobs[key].vm]
    world.serve(key)
    world.run()
    assert len(world.machines) == 3
    assert "breaker:p1" not in world.state.alarms


def test_case_12_a_hanging_boot_times_out_and_is_replaced() -> None:
    world = World()
    key = world.queued()
    first = world.vm_for(key).name
    boot_to_gate(world, first)
    world.wait(P1.boot_timeout_s + 1)
    assert world.state.vms[first].cause is Cause.BOOT_TIMEOUT
    assert world.vm_for(key).name != first
