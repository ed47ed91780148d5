"""A small world around the pure core: a cloud, two forges and VMs that do what intents ask, step by step."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from unit.autoscaler.core.samples import DEPLOYMENT, FAILED, START, reloaded

from shadow_autoscaler.core import events as ev
from shadow_autoscaler.core import intents as to
from shadow_autoscaler.core.decide import decide
from shadow_autoscaler.core.events import Event, Removal, RerunOutcome, Source
from shadow_autoscaler.core.faults import Failure, FailureKind
from shadow_autoscaler.core.intents import Intent
from shadow_autoscaler.core.jobs import ForgeKind, JobFacts, JobKey, JobStatus
from shadow_autoscaler.core.leftovers import Leftover, LeftoverKind
from shadow_autoscaler.core.machines import Server, ServerStatus, Vm
from shadow_autoscaler.core.names import vm_of_runner
from shadow_autoscaler.core.pools import Deployment
from shadow_autoscaler.core.state import Counters, Decision, State


@dataclass(slots=True)
class Machine:
    """A server of ours and what runs in it."""

    server: Server
    runner: str = ""
    job: JobKey | None = None
    ended: bool = False
    was_active: bool = False


@dataclass
class World:
    """State, time, pending intents, servers, runners and jobs."""

    deployment: Deployment = DEPLOYMENT
    now: float = START
    state: State = field(default_factory=lambda: State(counters=Counters(generation="g")))
    pending: list[Intent] = field(default_factory=list[Intent])
    machines: dict[str, Machine] = field(default_factory=dict[str, Machine])
    runners: dict[str, JobKey | None] = field(default_factory=dict[str, JobKey | None])
    jobs: dict[JobKey, JobFacts] = field(default_factory=dict[JobKey, JobFacts])
    leftovers: set[Leftover] = field(default_factory=set[Leftover])
    done: list[Intent] = field(default_factory=list[Intent])
    alarms: list[to.Alarm] = field(default_factory=list[to.Alarm])
    told: list[tuple[Event, Decision]] = field(default_factory=list[tuple[Event, Decision]])
    on_decision: Callable[[Event, State, Decision], None] = lambda _e, _s, _d: None
    numbers: int = 0
    reruns: Counter[tuple[str, int, int]] = field(default_factory=Counter[tuple[str, int, int]])
    """Re-runs that a forge carried out, by project, run and the attempt that was run again."""
    killed: list[JobKey] = field(default_factory=list[JobKey])
    """Jobs that ran on a healthy server when we deleted it."""

    asleep: bool = False
    """Whether nobody decided since the last event; else somebody did all the time."""

    def handle(self, event: Event) -> Decision:
        if not isinstance(event, ev.ClockStepped | ev.Resumed):
            self._live()
        decision = decide(self.state, event, self.now, self.deployment)
        self.on_decision(event, self.state, decision)
        self.state.apply(decision)
        self.told.append((event, decision))
        for intent in decision.intents:
            if isinstance(intent, to.Alarm):
                self.alarms.append(intent)
            else:
                self.pending.append(intent)
        return decision

    def _live(self) -> None:
        """What ticks in the time since the last event have written down."""
        counters = self.state.counters
        passed = self.now - counters.seen_at if counters.seen_at else 0.0
        if not self.asleep and passed >= 0.0:
            self.state.counters = replace(counters, seen_at=self.now, seen_s=counters.seen_s + passed)
        self.asleep = False

    def sleep(self, seconds: float) -> None:
        """The process stands still, and does not know of it."""
        self.now += seconds
        self.asleep = True

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.handle(ev.Tick())

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    def restart(self) -> None:
        """A new process: state from its rows, intents as `resume` in the runtime finds them."""
        self.state = reloaded(self.state)
        self.handle(ev.Resumed())
        self.handle(ev.Loaded(tuple(self.pending)))
        rows, self.pending = self.pending, []
        for intent in rows:
            match intent:
                case to.CreateServer():
                    self.pending.append(replace(intent, again=True))
                case to.Register():
                    unknown = Failure(FailureKind.UNKNOWN_OUTCOME, "the process ended")
                    self.handle(ev.RegisterFailed(intent.vm, unknown))
                case _:
                    self.pending.append(intent)

    def carry(self, index: int = 0, failure: Failure | None = None) -> Intent:
        """Carry a pending intent out; with a failure, have it fail with that."""
        intent = self.pending.pop(index)
        self.done.append(intent)
        answer = self._fail(intent, failure) if failure else self._do(intent)
        if answer is not None:
            self.handle(answer)
        return intent

    def run(self, most: int = 10_000) -> None:
        """Carry out all intents and what follows from them."""
        for _ in range(most):
            if not self.pending:
                return
            self.carry()
        raise AssertionError(f"no end: {self.pending[:3]}")

    def of(self, kind: type[Intent]) -> list[Intent]:
        """Return the intents of a kind that were carried out or wait."""
        return [intent for intent in (*self.done, *self.pending) if isinstance(intent, kind)]

    def _fail(self, intent: Intent, failure: Failure) -> Event | None:
        match intent:
            case to.CreateServer(vm=vm):
                return self._create(intent) if intent.again else self._refuse(vm, failure)
            case to.Register(vm=vm):
                if failure.kind is FailureKind.UNKNOWN_OUTCOME:
                    self.runners[intent.runner_name] = None
                return ev.RegisterFailed(vm, failure) if self._asks(intent) else None
            case to.Deregister(vm=vm):
                return ev.DeregisterFailed(vm, failure)
            case to.DeleteServer(vm=vm):
                return ev.DeleteFailed(vm, failure, intent.server_id)
            case _:
                self.pending.append(intent)
                return None

    def _do(self, intent: Intent) -> Event | None:
        hands: dict[type[Intent], Callable[[Any], Event | None]] = {
            to.CreateServer: self._create,
            to.Register: self._register,
            to.Deregister: lambda one: ev.Deregistered(one.vm, self.remove_runner(one.runner_name)),
            to.RemoveRunner: self._remove_runner,
            to.DeleteServer: self._delete,
            to.CheckServer: self._check_server,
            to.CheckJob: self._check_job,
            to.Rerun: lambda one: ev.RerunAnswered(one.key, self._rerun(one)),
            to.RemoveLeftover: self._remove_leftover,
        }
        return hands[type(intent)](intent)

    def _remove_runner(self, intent: to.RemoveRunner) -> None:
        self.remove_runner(intent.runner_name)

    def _check_server(self, intent: to.CheckServer) -> Event:
        machine = self.machines.get(intent.server_id)
        if machine is None:
            return ev.ServerGone(intent.vm, intent.server_id)
        return ev.ServersListed((machine.server,), complete=False, asked_at=self.now)

    def _check_job(self, intent: to.CheckJob) -> Event:
        facts = self.jobs.get(intent.key)
        return ev.JobSeen(facts, Source.POLL) if facts else ev.JobMissing(intent.key)

    def _remove_leftover(self, intent: to.RemoveLeftover) -> Event:
        self.leftovers.discard(intent.leftover)
        return ev.LeftoverRemoved(intent.leftover)

    def _refuse(self, vm: str, failure: Failure) -> Event:
        self.handle(ev.CreateSent(vm))
        if failure.kind is FailureKind.UNKNOWN_OUTCOME and self.state.may_create(vm):
            self._server(vm)
        return ev.CreateFailed(vm, failure)

    def _create(self, intent: to.CreateServer) -> Event:
        found = [one.server for one in self.machines.values() if one.server.name == intent.vm]
        if intent.again and found:
            return ev.ServerCreated(intent.vm, found[0])
        self.handle(ev.CreateSent(intent.vm))
        if not self.state.may_create(intent.vm):
            return ev.CreateFailed(intent.vm, Failure(FailureKind.CONFLICT, "no longer wanted"))
        return ev.ServerCreated(intent.vm, self._server(intent.vm))

    def _server(self, vm: str) -> Server:
        number = self.number()
        server = Server(f"s{number}", vm, ServerStatus.BUILDING, "BUILD", self.now, {"vm": vm})
        self.machines[server.server_id] = Machine(server)
        self.leftovers.add(Leftover(LeftoverKind.PORT, f"port{number}", vm))
        return server

    def _asks(self, intent: to.Register) -> bool:
        vm = self.state.vms.get(intent.vm)
        return vm is not None and vm.runner_name == intent.runner_name and vm.asked_at is not None

    def _register(self, intent: to.Register) -> Event | None:
        if not self._asks(intent):
            return None
        assert intent.runner_name not in self.runners, "a runner's name was used twice"
        self.runners[intent.runner_name] = None
        return ev.Registered(intent.vm, self.number(), intent.runner_name)

    def remove_runner(self, name: str) -> Removal:
        if self.runners.get(name) is not None:
            return Removal.BUSY
        self.runners.pop(name, None)
        return Removal.GONE

    def _delete(self, intent: to.DeleteServer) -> Event | None:
        machine = self.machines.pop(intent.server_id, None)
        if machine is not None and machine.job is not None:
            self.killed.append(machine.job)
        return ev.ServerGone(intent.vm, intent.server_id)

    def machine(self, vm: str) -> Machine:
        known = self.state.vms[vm].server_id
        named = [one for one in self.machines.values() if one.server.name == vm]
        return next((one for one in named if one.server.server_id == known), named[0])

    def vm_for(self, key: JobKey) -> Vm:
        return self.state.vms[self.state.jobs[key].vm]

    def set_server(self, machine: Machine, status: ServerStatus, failure: Failure | None = None) -> None:
        """Nova changes a server; nobody is told yet."""
        text = failure.text if failure else ""
        machine.was_active |= status is ServerStatus.ACTIVE
        machine.server = replace(
            machine.server, status=status, raw_status=status.name, failure=failure, fault=text
        )

    def servers(self) -> tuple[Server, ...]:
        return tuple(machine.server for machine in self.machines.values())

    def list_servers(self, *, complete: bool = True) -> None:
        self.handle(ev.ServersListed(self.servers(), complete=complete, asked_at=self.now))

    def boot(self, vm: str) -> None:
        """A server comes up, its GPU is good, and it fetches its configuration."""
        self.set_server(self.machine(vm), ServerStatus.ACTIVE)
        self.list_servers()
        self.handle(ev.VmReported(vm, "healthy", "ok"))
        self.ask(vm)

    def ask(self, vm: str) -> None:
        """The VM asks for a configuration and takes it where it is given."""
        self.handle(ev.ConfigAsked(vm))
        self.run()
        self.take(vm)

    def take(self, vm: str) -> None:
        known, machine = self.state.vms[vm], self.machine(vm)
        if known.runner_name in self.runners and known.ready_at is not None and machine.job is None:
            machine.runner = known.runner_name

    def vanish(self, vm: str) -> None:
        """The cloud takes a server, and its job dies; the forge does not know yet."""
        machine = self.machine(vm)
        self.machines.pop(machine.server.server_id)

    def job(
        self,
        labels: tuple[str, ...] = ("self-hosted", "rtx2000"),
        *,
        project: str = "acme/app",
        run_id: int = 900,
        name: str = "train",
        forge: ForgeKind = ForgeKind.GITHUB,
        attempt: int = 1,
        ref: str = "main",
        fork: bool = False,
    ) -> JobFacts:
        """A job is queued at a forge."""
        key = JobKey(forge, project, 5000 + self.number(), attempt)
        facts = JobFacts(key, JobStatus.QUEUED, name, labels, run_id, self.now, ref=ref, fork=fork)
        self.jobs[key] = facts
        return facts

    def queued(self, *labels: tuple[str, ...], **words: Any) -> JobKey:
        """A job is queued and the webhook comes."""
        facts = self.job(*labels, **words)
        self.tell(facts.key)
        return facts.key

    def tell(self, key: JobKey) -> None:
        """The webhook of a job's present state comes, as the forge writes it."""
        self.handle(ev.JobSeen(self.hook(self.jobs[key])))

    def hook(self, facts: JobFacts) -> JobFacts:
        if facts.key.forge is ForgeKind.GITLAB:
            return replace(facts, labels=(), runner_name="", partial=True)
        return facts

    def idle_runners(self, facts: JobFacts) -> list[Machine]:
        """Return machines to which the forge may give the job."""
        fitting: list[Machine] = []
        for machine in self.machines.values():
            vm = self.state.vms.get(machine.server.name)
            pool = self.deployment.pool(vm.pool) if vm else None
            online = machine.runner in self.runners and self.runners[machine.runner] is None
            alive = machine.server.status is ServerStatus.ACTIVE
            if pool and online and alive and pool.forge is facts.key.forge and not machine.ended:
                has = set(pool.labels)
                if set(facts.labels) <= has:
                    fitting.append(machine)
        return fitting

    def start(self, key: JobKey, machine: Machine) -> None:
        """The forge gives a job to a runner; nobody is told yet."""
        self.runners[machine.runner] = key
        machine.job = key
        self.jobs[key] = replace(
            self.jobs[key], status=JobStatus.RUNNING, started_at=self.now, runner_name=machine.runner
        )

    def finish(self, key: JobKey, conclusion: str = "success") -> None:
        """A job ends at the forge, and with it its ephemeral registration; nobody is told yet."""
        facts = self.jobs[key]
        self.jobs[key] = replace(facts, status=JobStatus.DONE, conclusion=conclusion, finished_at=self.now)
        if self.runners.get(facts.runner_name) == key:
            self.runners.pop(facts.runner_name)
        for machine in self.machines.values():
            if machine.job == key:
                machine.job, machine.ended = None, True

    def serve(self, key: JobKey) -> Vm:
        """Bring a queued job onto its VM."""
        self.run()
        vm = self.vm_for(key)
        self.boot(vm.name)
        self.start(key, self.machine(vm.name))
        self.tell(key)
        return self.state.vms[vm.name]

    def _rerun(self, intent: to.Rerun) -> RerunOutcome:
        asked = self.jobs[intent.key]
        if intent.key.forge is ForgeKind.GITLAB:
            return self._retry(asked)
        run = [
            facts
            for facts in self.jobs.values()
            if facts.run_id == asked.run_id and facts.key.project == asked.key.project
        ]
        latest = max(facts.key.attempt for facts in run)
        if latest > intent.key.attempt:
            return RerunOutcome.DONE
        if any(facts.status is not JobStatus.DONE for facts in run):
            return RerunOutcome.NOT_YET
        self.reruns[asked.key.project, asked.run_id, latest] += 1
        for facts in run:
            if facts.key.attempt == latest and facts.conclusion == FAILED:
                self._attempt(facts)
        return RerunOutcome.DONE

    def _retry(self, asked: JobFacts) -> RerunOutcome:
        if asked.status is not JobStatus.DONE:
            return RerunOutcome.NOT_YET
        newer = any(
            one.name == asked.name and one.run_id == asked.run_id and one.key > asked.key
            for one in self.jobs.values()
        )
        if not newer:
            self._attempt(asked)
        return RerunOutcome.DONE

    def _attempt(self, facts: JobFacts) -> None:
        github = facts.key.forge is ForgeKind.GITHUB
        self.job(
            facts.labels,
            project=facts.key.project,
            run_id=facts.run_id,
            name=facts.name,
            forge=facts.key.forge,
            attempt=facts.key.attempt + github,
            ref=facts.ref,
        )

    def list_jobs(self, *, complete: bool = True) -> None:
        for forge in ForgeKind:
            jobs = tuple(
                facts
                for facts in self.jobs.values()
                if facts.key.forge is forge and facts.status is not JobStatus.DONE
            )
            self.handle(ev.JobsListed(jobs, complete=complete, forge=forge))

    def list_runners(self, *, complete: bool = True) -> None:
        for forge in ForgeKind:
            pools = {pool.name for pool in self.deployment.pools if pool.forge is forge}
            shown: list[ev.Runner] = []
            for number, (name, job) in enumerate(self.runners.items()):
                vm = self.state.vms.get(vm_of_runner(name))
                if (vm.pool if vm else "p1") in pools:
                    shown.append(ev.Runner(number, name, online=True, busy=job is not None))
            self.handle(ev.RunnersListed(forge, tuple(shown), complete=complete))

    def list_leftovers(self) -> None:
        used = {machine.server.name for machine in self.machines.values()}
        loose = tuple(one for one in self.leftovers if one.vm not in used)
        self.handle(ev.LeftoversListed(loose, complete=True))

    def look(self) -> None:
        """The tick loop's lists."""
        self.list_servers()
        self.list_jobs()
        self.list_runners()
        self.list_leftovers()
        self.wait(0)
