"""Conservation laws: any order, loss and doubling of events, any fault, a kill at any point."""

from collections import Counter
from dataclasses import replace

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from unit.autoscaler.core.calm import Calm
from unit.autoscaler.core.samples import CAPACITY, DEPLOYMENT, FAILED, reloaded
from unit.autoscaler.core.world import Machine, World

from shadow_autoscaler.core import events as ev
from shadow_autoscaler.core import intents as to
from shadow_autoscaler.core.decide import decide
from shadow_autoscaler.core.faults import Failure, FailureKind
from shadow_autoscaler.core.index import Index
from shadow_autoscaler.core.jobs import ForgeKind, JobFacts, JobKey, JobStatus
from shadow_autoscaler.core.machines import Cause, Phase, ServerStatus, Vm
from shadow_autoscaler.core.pools import IdleWindow
from shadow_autoscaler.core.state import Decision, State

KINDS = [
    FailureKind.CAPACITY,
    FailureKind.QUOTA,
    FailureKind.AUTH,
    FailureKind.THROTTLED,
    FailureKind.CONFLICT,
    FailureKind.TRANSIENT,
    FailureKind.UNKNOWN_OUTCOME,
    FailureKind.CONFIG,
    FailureKind.REFUSED,
]
ANSWERS = (
    ev.JobSeen,
    ev.JobMissing,
    ev.RunCompleted,
    ev.JobsListed,
    ev.ServerCreated,
    ev.ServerGone,
    ev.VmReported,
    ev.Registered,
    ev.ReclaimNoticed,
    ev.RerunAnswered,
    ev.QuotaRead,
    ev.CreateSent,
)
"""Events that may be delivered twice: the second time changes nothing and asks for nothing."""
FOREIGN = ("gpu-p1-x00001-1", "gpu-other", "gpux-p1-g00001-1")
CHANGES = {
    ServerStatus.ERROR: CAPACITY,
    ServerStatus.STOPPED: None,
    ServerStatus.DELETING: None,
    ServerStatus.UNKNOWN: None,
}
BOOTS_PER_JOB = 40
"""VMs that may have come up for one job: failed boots, pick-ups in vain, reclaims; far above what happens."""


class Laws(RuleBasedStateMachine):
    """Steps of clouds, forges, VMs, networks and processes; the laws hold after each."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.world.on_decision = self._judge
        self.history: list[JobFacts] = []
        self.asked_for: Counter[JobKey] = Counter()
        self.planted: Counter[str] = Counter()
        self.calm = Calm(self.world, FOREIGN)
        for name in FOREIGN:
            self.world.runners[name] = None

    def _judge(self, event: ev.Event, state: State, decision: Decision) -> None:
        for vm in decision.vms:
            self._forward(state.vms.get(vm.name), vm)
            if vm.name not in state.vms and vm.job:
                self.asked_for[vm.job] += 1
        for job in decision.jobs:
            old = state.jobs.get(job.key)
            assert old is None or job.status >= old.status
        for intent in decision.intents:
            if isinstance(intent, to.RemoveRunner):
                assert intent.runner_name not in FOREIGN
        self._again(event, state, decision)

    def _forward(self, old: Vm | None, vm: Vm) -> None:
        assert old is None or vm.phase >= old.phase
        assert old is None or not old.server_id or vm.server_id == old.server_id
        if vm.phase is Phase.GONE and vm.server_id:
            assert vm.server_id not in self.world.machines, "called gone while the cloud still has it"

    def _again(self, event: ev.Event, state: State, decision: Decision) -> None:
        if not isinstance(event, ANSWERS):
            return
        copy = reloaded(state)
        copy.apply(decision)
        second = decide(copy, event, self.world.now, self.world.deployment)
        assert not second.vms, (event, second)
        assert not second.jobs, (event, second)
        asks = [one for one in second.intents if not isinstance(one, to.CheckJob | to.DeleteServer)]
        assert not asks, (event, second)

    @initialize(warm=st.booleans())
    def begin(self, warm: bool) -> None:
        if warm:
            pools = DEPLOYMENT.pools
            first = replace(pools[0], idle=(IdleWindow(1),))
            self.world.deployment = replace(DEPLOYMENT, pools=(first, *pools[1:]))

    @rule(
        labels=st.sampled_from([("self-hosted", "rtx2000"), ("self-hosted", "a4500"), ("shadow-gpu",)]),
        project=st.sampled_from(["acme/app", "acme/lib"]),
        run=st.integers(1, 3),
        forge=st.sampled_from([ForgeKind.GITHUB, ForgeKind.GITHUB, ForgeKind.GITLAB]),
        heard=st.booleans(),
    )
    def queue(
        self, labels: tuple[str, ...], project: str, run: int, forge: ForgeKind, *, heard: bool
    ) -> None:
        labels = ("shadow-gpu",) if forge is ForgeKind.GITLAB else labels
        facts = self.world.job(labels, project=project, run_id=run, forge=forge)
        self.history.append(facts)
        if heard:
            self.world.tell(facts.key)

    @precondition(lambda self: self.history)
    @rule(data=st.data())
    def old_webhook(self, data: st.DataObject) -> None:
        facts = data.draw(st.sampled_from(self.history))
        self.world.handle(ev.JobSeen(self.world.hook(facts)))

    @precondition(lambda self: self.world.pending)
    @rule(data=st.data(), fails=st.sampled_from([None, None, None, *KINDS]))
    def carry(self, data: st.DataObject, fails: FailureKind | None) -> None:
        index = data.draw(st.integers(0, len(self.world.pending) - 1))
        self.world.carry(index, Failure(fails, "planted") if fails else None)

    @precondition(lambda self: self.world.pending)
    @rule()
    def carry_all(self) -> None:
        self.world.run()

    @precondition(lambda self: self.world.machines)
    @rule(data=st.data(), to_active=st.booleans(), status=st.sampled_from(list(CHANGES)))
    def server_changes(self, data: st.DataObject, *, to_active: bool, status: ServerStatus) -> None:
        machine = self._a_machine(data)
        if to_active and machine.server.status is not ServerStatus.BUILDING:
            return
        self.world.set_server(machine, ServerStatus.ACTIVE if to_active else status, CHANGES.get(status))
        if machine.server.status is not ServerStatus.ACTIVE:
            machine.job = None

    @precondition(lambda self: self.world.machines)
    @rule(data=st.data(), notice=st.booleans())
    def reclaim(self, data: st.DataObject, *, notice: bool) -> None:
        machine = self._a_machine(data)
        if not notice:
            self.world.machines.pop(machine.server.server_id)
        elif self.calm.known(machine):
            self.world.handle(ev.ReclaimNoticed(machine.server.name, self.world.now + 900))

    @precondition(lambda self: self.world.machines)
    @rule(data=st.data())
    def create_call_is_doubled_on_its_way(self, data: st.DataObject) -> None:
        name = self._a_machine(data).server.name
        if not self.planted[name]:
            self.world._server(name)
            self.planted[name] += 1

    @precondition(lambda self: self.world.machines)
    @rule(data=st.data())
    def boots_well(self, data: st.DataObject) -> None:
        machine = self._a_machine(data)
        if not self.calm.known(machine):
            return
        if machine.server.status is ServerStatus.BUILDING:
            self.world.set_server(machine, ServerStatus.ACTIVE)
        if machine.server.status is ServerStatus.ACTIVE and not machine.ended:
            self.world.handle(ev.VmReported(machine.server.name, "healthy", "ok"))
            self.world.handle(ev.ConfigAsked(machine.server.name))

    @precondition(lambda self: self.world.machines)
    @rule(data=st.data(), phase=st.sampled_from(["packages", "gpu_host", "ended"]), ok=st.booleans())
    def reports(self, data: st.DataObject, phase: str, *, ok: bool) -> None:
        machine = self._a_machine(data)
        active = machine.server.status is ServerStatus.ACTIVE and self.calm.known(machine)
        if not active or (phase == "ended" and machine.job):
            return
        if phase == "ended":
            machine.ended = True
        self.world.handle(ev.VmReported(machine.server.name, phase, "ok" if ok else "failed", "planted"))

    @precondition(lambda self: self.world.machines)
    @rule(data=st.data(), heard=st.booleans())
    def forge_assigns(self, data: st.DataObject, *, heard: bool) -> None:
        self.calm.online()
        queued = [facts for facts in self.world.jobs.values() if facts.status is JobStatus.QUEUED]
        pairs = [(facts.key, one) for facts in queued for one in self.world.idle_runners(facts)]
        if not pairs:
            return
        key, machine = data.draw(st.sampled_from(pairs))
        self.world.start(key, machine)
        self._changed(key, heard=heard)

    def _changed(self, key: JobKey, *, heard: bool) -> None:
        self.history.append(self.world.jobs[key])
        if heard:
            self.world.tell(key)

    @precondition(lambda self: any(job.status is JobStatus.RUNNING for job in self.world.jobs.values()))
    @rule(data=st.data(), heard=st.booleans(), conclusion=st.sampled_from(["success", FAILED, "cancelled"]))
    def job_ends(self, data: st.DataObject, conclusion: str, *, heard: bool) -> None:
        running = [key for key, job in self.world.jobs.items() if job.status is JobStatus.RUNNING]
        key = data.draw(st.sampled_from(running))
        lost = not any(machine.job == key for machine in self.world.machines.values())
        self.world.finish(key, FAILED if lost else conclusion)
        self._changed(key, heard=heard)
        self._maybe_completed(key, heard=heard)

    def _maybe_completed(self, key: JobKey, *, heard: bool) -> None:
        run_id = self.world.jobs[key].run_id
        run = [
            job
            for job in self.world.jobs.values()
            if job.run_id == run_id and job.key.project == key.project and job.key.forge is key.forge
        ]
        if heard and all(job.status is JobStatus.DONE for job in run):
            self.world.handle(ev.RunCompleted(key, run_id, key.attempt))

    @precondition(lambda self: any(job.status is JobStatus.QUEUED for job in self.world.jobs.values()))
    @rule(data=st.data(), heard=st.booleans())
    def cancel(self, data: st.DataObject, *, heard: bool) -> None:
        queued = [key for key, job in self.world.jobs.items() if job.status is JobStatus.QUEUED]
        key = data.draw(st.sampled_from(queued))
        self.world.finish(key, "cancelled")
        self._changed(key, heard=heard)

    @precondition(lambda self: any(job.status is JobStatus.QUEUED for job in self.world.jobs.values()))
    @rule(data=st.data(), heard=st.booleans())
    def taken_elsewhere(self, data: st.DataObject, *, heard: bool) -> None:
        queued = [key for key, job in self.world.jobs.items() if job.status is JobStatus.QUEUED]
        key = data.draw(st.sampled_from(queued))
        facts = self.world.jobs[key]
        self.world.jobs[key] = replace(facts, status=JobStatus.RUNNING, runner_name="hosted-7")
        self._changed(key, heard=heard)

    @rule(complete=st.booleans(), keep=st.booleans())
    def servers_listed(self, *, complete: bool, keep: bool) -> None:
        # A complete list that lies: cells are down, or it is stale.
        servers = self.world.servers() if keep else ()
        self.world.handle(ev.ServersListed(servers, complete=complete, asked_at=self.world.now))

    @rule(complete=st.booleans(), empty=st.booleans())
    def jobs_listed(self, *, complete: bool, empty: bool) -> None:
        if empty:
            self.world.handle(ev.JobsListed((), complete=complete, forge=ForgeKind.GITHUB))
        else:
            self.world.list_jobs(complete=complete)

    @rule(complete=st.booleans())
    def runners_listed(self, *, complete: bool) -> None:
        self.world.list_runners(complete=complete)

    @rule()
    def leftovers_listed(self) -> None:
        self.world.list_leftovers()

    @rule(seconds=st.sampled_from([0.0, 5.0, 31.0, 61.0, 200.0, 400.0, 1000.0, 2000.0]))
    def time_passes(self, seconds: float) -> None:
        self.world.wait(seconds)

    @rule(by=st.sampled_from([-30 * 86_400.0, -700.0, 700.0, 30 * 86_400.0]))
    def clock_is_set(self, by: float) -> None:
        self.world.now += by
        self.world.handle(ev.ClockStepped(by))

    @rule()
    def process_is_killed(self) -> None:
        self.world.restart()

    def _a_machine(self, data: st.DataObject) -> Machine:
        return data.draw(st.sampled_from(list(self.world.machines.values())))

    @invariant()
    def one_vm_per_job(self) -> None:
        state = self.world.state
        meant = Counter(vm.job for vm in state.vms.values() if vm.phase <= Phase.READY and vm.job)
        assert all(count == 1 for count in meant.values()), meant
        for vm in state.vms.values():
            if vm.phase <= Phase.READY and vm.job is not None:
                assert state.jobs[vm.job].vm == vm.name
                job = state.jobs[vm.job]
                assert job.status < JobStatus.RUNNING or job.facts.partial

    @invariant()
    def never_more_than_allowed(self) -> None:
        world = self.world
        live = [vm for vm in world.state.vms.values() if vm.live]
        assert len(live) <= world.deployment.max_vms
        for pool in world.deployment.pools:
            assert sum(vm.pool == pool.name for vm in live) <= pool.max
        names = Counter(machine.server.name for machine in world.machines.values())
        doubles = [name for name, count in names.items() if count > 1 + self.planted[name]]
        assert not doubles, f"two servers for one VM: {doubles}"
        # The core hears of a planted double only from a list.
        assert sum(not self.planted[name] for name in names) <= world.deployment.max_vms

    @invariant()
    def no_job_killed_by_us(self) -> None:
        for key in self.world.killed:
            ends = [vm.cause for vm in self.world.state.vms.values() if vm.job == key]
            assert Cause.JOB_DEADLINE in ends, f"we deleted the server under {key}"

    @invariant()
    def foreign_runners_stay(self) -> None:
        assert all(name in self.world.runners for name in FOREIGN)

    @invariant()
    def indexes_agree(self) -> None:
        state = self.world.state
        fresh = Index.over(state.jobs.values(), state.vms.values())
        for name in ("unserved", "live", "runs"):
            now, then = getattr(state.index, name), getattr(fresh, name)
            assert {key: set(value) for key, value in now.items() if value} == {
                key: set(value) for key, value in then.items() if value
            }
        for name in ("open", "ended", "gone"):
            assert set(getattr(state.index, name)) == set(getattr(fresh, name))

    def teardown(self) -> None:
        """All faults stop and time passes: every job is served, and nothing is left."""
        self.calm.settle()
        self._judge_end()

    def _judge_end(self) -> None:
        world = self.world
        waiting = [key for key, job in world.jobs.items() if job.status is not JobStatus.DONE]
        assert not waiting, f"never served: {waiting}"
        warm = {vm.name for vm in world.state.vms.values() if vm.live and vm.job is None}
        loose = [one.server for one in world.machines.values() if one.server.name not in warm]
        assert not loose, f"leaked servers: {loose}"
        assert not [vm for vm in world.state.vms.values() if vm.live and vm.name not in warm]
        assert not self.calm.registrations()
        assert not [one for one in world.leftovers if one.vm not in warm]
        self._spend_is_bounded()

    def _spend_is_bounded(self) -> None:
        world = self.world
        for key, job in world.state.jobs.items():
            assert job.tries == self.asked_for[key]
            assert job.tries <= BOOTS_PER_JOB, f"{job.tries} VMs for {key}"
        assert all(count == 1 for count in world.reruns.values()), world.reruns


Laws.TestCase.settings = settings(
    max_examples=80,
    stateful_step_count=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
TestLaws = Laws.TestCase
