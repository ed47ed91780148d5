"""§4 case 11: the process is killed before and after every single write, and started again."""

from typing import Any

import pytest

from shadow_autoscaler.core.jobs import JobStatus

WRITES = frozenset(
    {"cloud.create", "cloud.delete", "github.register", "github.deregister", "store.accept", "store.commit"}
)


class Killer:
    """Kills at the n-th moment before or after a write."""

    def __init__(self, killed: type[BaseException], at: int) -> None:
        self.killed, self.at, self.moment, self.where = killed, at, 0, ""

    def __call__(self, verb: str, moment: str) -> None:
        if verb not in WRITES:
            return
        self.moment += 1
        if self.moment == self.at:
            self.where = f"{moment} {verb}"
            raise self.killed(self.where)


def run(make: Any, killed: type[BaseException], at: int, down: float) -> tuple[Any, Any, Killer]:
    """Run one job with one kill; return the rig, the job and the killer."""
    rig, killer = make(), Killer(killed, at)
    rig.live(5)
    rig.faults.hook = killer
    key = rig.queue()
    rig.live(300, step=15, down=down)
    return rig, key, killer


def assert_converged(rig: Any, where: str) -> None:
    assert not rig.cloud.truth(), where
    assert not rig.github.registrations(), where
    assert not rig.store.outbox(), where
    assert not rig.store.inbox(), where
    assert all(not vm.live for vm in rig.store.load().vms.values()), where


def test_killed_at_any_write_and_started_at_once_the_job_runs_once_and_nothing_is_left(
    make_rig: Any, killed: type[BaseException]
) -> None:
    at, where = 0, "start"
    while where:
        at += 1
        rig, key, killer = run(make_rig, killed, at, down=0.0)
        where = killer.where
        assert rig.github.truth()[key].conclusion == "success", where
        assert rig.github.starts[key] == 1, where
        assert rig.faults.calls["cloud.create"] <= 2, where
        assert_converged(rig, where)
    assert at > 40


@pytest.mark.parametrize("at", range(2, 40, 6))
def test_killed_and_started_a_day_later_nothing_is_left(
    make_rig: Any, killed: type[BaseException], at: int
) -> None:
    rig, key, killer = run(make_rig, killed, at, down=26 * 3600.0)
    assert killer.where
    assert rig.github.truth()[key].status is JobStatus.DONE
    assert rig.github.starts[key] <= 1
    assert_converged(rig, killer.where)
    # A job that the forge gave up meanwhile is no reason for another VM.
    assert rig.faults.calls["cloud.create"] <= 2
