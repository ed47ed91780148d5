"""The process's clock is set, or its machine suspended, in the middle of a job."""

from typing import Any

import pytest

from shadow_autoscaler.core.faults import Failure, FailureKind
from shadow_autoscaler.core.intents import CheckJob
from shadow_autoscaler.core.machines import Phase
from shadow_autoscaler.core.state import Decision
from shadow_autoscaler.ports import Commit
from shadow_autoscaler.runtime.steady import TOLERANCE_S, Watch, steady

DAY = 86_400.0


@pytest.mark.parametrize("by", [-30 * DAY, -7200.0, 7200.0, 30 * DAY])
def test_a_job_runs_to_its_end_whatever_is_done_to_the_clock(rig: Any, by: float) -> None:
    key = rig.queue(seconds=600.0)
    rig.settle(120)
    assert [vm.phase for vm in rig.store.load().vms.values()] == [Phase.BUSY]
    rig.clock.offset = by
    rig.settle(60)
    assert [vm.phase for vm in rig.store.load().vms.values()] == [Phase.BUSY]
    rig.clock.offset = -by
    rig.settle(700)
    assert rig.github.truth()[key].conclusion == "success"
    assert rig.github.starts[key] == 1
    assert rig.faults.calls["cloud.create"] == 1
    assert not rig.cloud.truth()


def test_what_waits_to_be_done_again_does_not_wait_for_the_clock(rig: Any) -> None:
    rig.faults.script("github.register", Failure(FailureKind.THROTTLED, "secondary limit", 60.0))
    key = rig.queue()
    rig.settle(58)
    assert rig.faults.failed["github.register"] == 1
    rig.clock.offset = -DAY
    rig.settle(240)
    assert rig.github.truth()[key].conclusion == "success"


def test_a_due_time_of_a_clock_that_was_ahead_is_not_waited_for_after_a_restart(rig: Any) -> None:
    rig.clock.offset = 30 * DAY
    rig.faults.script("github.job", Failure(FailureKind.THROTTLED, "rate limit", 3000.0))
    key = rig.queue()
    rig.settle()
    rig.store.commit(Commit(Decision(intents=(CheckJob(key),)), rig.clock.now()))
    rig.open()
    rig.settle(5)
    assert rig.faults.failed["github.job"] == 1
    (row,) = (row for row in rig.store.outbox() if isinstance(row.intent, CheckJob))
    assert row.due_at > rig.clock.now() + 1000.0
    rig.clock.offset = 0.0
    rig.open()
    rig.settle(3700, step=60.0)
    assert not rig.store.outbox()
    assert rig.github.truth()[key].conclusion == "success"


def test_small_differences_are_left_alone_until_they_have_grown() -> None:
    wall, still = [100.0], [5.0]
    watch = Watch(lambda: wall[0], lambda: still[0])
    wall[0] += TOLERANCE_S
    assert watch.stepped() == 0.0
    wall[0] += 1.0
    assert watch.stepped() == TOLERANCE_S + 1.0
    watch.heed(watch.stepped())
    assert watch.stepped() == 0.0
    still[0] += 50.0
    assert watch.stepped() == -50.0


def test_without_a_steady_clock_nothing_is_noticed() -> None:
    wall = [0.0]
    watch = Watch(lambda: wall[0], None)
    wall[0] = DAY
    assert watch.stepped() == 0.0


def test_the_steady_clock_counts_up() -> None:
    assert steady() <= steady()


def test_a_step_that_could_not_be_written_is_not_forgotten(rig: Any) -> None:
    key = rig.queue(seconds=600.0)
    rig.settle(120)
    rig.clock.offset = DAY
    rig.faults.script("store.commit", Failure(FailureKind.TRANSIENT, "disk full"))
    with pytest.raises(Exception, match="disk full"):
        rig.turns.look()
    rig.settle(60)
    assert rig.github.busy(rig.github.truth()[key].runner_name) == key


def test_a_second_step_while_the_first_is_written_reaches_no_decision(
    rig: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = rig.queue(seconds=3600.0)
    rig.settle(120)
    commit, jumps = rig.store.commit, [DAY]

    def slow(what: Commit) -> Any:
        if jumps and any("the clock was set" in note.text for note in what.decision.notes):
            rig.clock.offset = jumps.pop()
        return commit(what)

    monkeypatch.setattr(rig.store, "commit", slow)
    rig.clock.offset = 60.0
    rig.settle(60)
    assert not jumps
    assert rig.github.busy(rig.github.truth()[key].runner_name) == key
    (vm,) = rig.store.load().vms.values()
    assert vm.phase is Phase.BUSY
    assert vm.busy_at > rig.clock.now() - 600.0


@pytest.mark.parametrize("counts", [True, False])
def test_a_machine_that_sleeps_ends_no_job_whether_or_not_its_steady_clock_counts_that(
    rig: Any, *, counts: bool
) -> None:
    key = rig.queue(seconds=2 * DAY)
    rig.settle(120)
    rig.clock.advance(DAY)
    rig.clock.slept = 0.0 if counts else DAY
    rig.settle(60)
    assert rig.github.busy(rig.github.truth()[key].runner_name) == key


def test_a_clock_that_was_in_1970_ends_no_job(rig: Any) -> None:
    key = rig.queue(seconds=600.0)
    rig.settle(120)
    rig.clock.offset = 30.0 - rig.clock.true
    rig.settle(60)
    rig.clock.offset = 0.0
    rig.settle(700)
    assert rig.github.truth()[key].conclusion == "success"
    assert rig.github.starts[key] == 1
