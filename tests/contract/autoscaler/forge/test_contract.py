"""What every forge does alike: both adapters over the simulators, and the fakes that other tests use."""

import pytest
from contract.autoscaler.forge.labs import LABELS, Lab, new_name, pool

from shadow_autoscaler.core.events import Removal, RerunOutcome
from shadow_autoscaler.core.jobs import ForgeKind, JobKey, JobStatus
from shadow_autoscaler.ports import Registration


def register(lab: Lab, key: JobKey | None = None) -> Registration:
    return lab.forge.register(pool(lab.kind), new_name(), key)


def test_a_waiting_job_is_told_with_its_labels_run_and_branch(lab: Lab) -> None:
    (key,) = lab.queue()
    facts = lab.forge.job(key)
    assert facts is not None
    assert (facts.key, facts.status, facts.labels) == (key, JobStatus.QUEUED, LABELS)
    assert (facts.ref, facts.fork, facts.known_origin, facts.partial) == ("main", False, True, False)
    assert facts.run_id > 0
    assert facts.queued_at > 1_700_000_000
    assert (facts.started_at, facts.finished_at, facts.runner_name) == (None, None, "")


def test_a_job_that_does_not_exist_is_none(lab: Lab) -> None:
    (key,) = lab.queue()
    assert lab.forge.job(JobKey(key.forge, key.project, key.job_id + 10_000)) is None


def test_the_list_has_waiting_and_running_jobs_and_no_other(lab: Lab) -> None:
    first, second, third = lab.queue(3)
    registration = register(lab, first)
    running = lab.start(registration)
    assert running in {first, second, third}
    ended = lab.start(register(lab))
    assert ended is not None
    lab.finish(ended)
    states = {facts.key: facts.status for facts in lab.forge.jobs()}
    waiting = ({first, second, third} - {running, ended}).pop()
    assert states == {waiting: JobStatus.QUEUED, running: JobStatus.RUNNING}


def test_a_job_that_runs_tells_its_runner_and_one_that_ended_its_times(lab: Lab) -> None:
    lab.queue()
    registration = register(lab)
    key = lab.start(registration)
    assert key is not None
    running = lab.forge.job(key)
    assert running is not None
    assert (running.status, running.runner_name) == (JobStatus.RUNNING, registration.runner_name)
    assert running.started_at is not None
    lab.finish(key, good=False)
    done = lab.forge.job(key)
    assert done is not None
    assert done.status is JobStatus.DONE
    assert done.conclusion in {"failure", "failed"}
    assert done.finished_at is not None


def test_a_registration_says_what_the_machine_needs(lab: Lab) -> None:
    registration = register(lab)
    assert registration.config["kind"] == lab.kind
    wanted = {"jit_config"} if lab.kind is ForgeKind.GITHUB else {"url", "token"}
    assert all(registration.config[name] for name in wanted)
    assert not any(registration.config[name] in repr(registration) for name in wanted)


def test_a_runner_is_listed_as_online_and_busy_while_it_is(lab: Lab) -> None:
    lab.queue()
    working, idle = register(lab), register(lab)
    key = lab.start(working)
    assert key is not None
    lab.start(idle)
    shown = {runner.name: (runner.online, runner.busy) for runner in lab.forge.runners()}
    assert shown == {working.runner_name: (True, True), idle.runner_name: (True, False)}
    lab.finish(key)


@pytest.mark.parametrize("by_number", [True, False])
def test_an_idle_runner_is_removed_and_a_second_removal_changes_nothing(lab: Lab, by_number: bool) -> None:
    registration = register(lab)
    lab.start(registration)
    number = registration.runner_id if by_number else None
    for _ in range(2):
        assert lab.forge.deregister(registration.runner_name, number) is Removal.GONE
    assert lab.forge.runners() == ()


@pytest.mark.parametrize("by_number", [True, False])
def test_a_busy_runner_stays(lab: Lab, by_number: bool) -> None:
    lab.queue()
    registration = register(lab)
    key = lab.start(registration)
    assert key is not None
    number = registration.runner_id if by_number else None
    assert lab.forge.deregister(registration.runner_name, number) is Removal.BUSY
    facts = lab.forge.job(key)
    assert facts is not None
    assert facts.status is JobStatus.RUNNING
    lab.finish(key)
    assert lab.forge.deregister(registration.runner_name, number) is Removal.GONE


def test_a_runner_that_never_was_counts_as_removed(lab: Lab) -> None:
    assert lab.forge.deregister(new_name(), None) is Removal.GONE


def test_a_failed_job_runs_again_once(lab: Lab) -> None:
    lab.queue()
    key = lab.start(register(lab))
    assert key is not None
    lab.finish(key, good=False)
    facts = lab.forge.job(key)
    assert facts is not None
    assert lab.forge.rerun(key, facts.run_id) is RerunOutcome.DONE
    (again,) = lab.forge.jobs()
    assert again.key != key
    assert (again.status, again.run_id, again.labels) == (JobStatus.QUEUED, facts.run_id, LABELS)
    lab.forge.rerun(key, facts.run_id)
    assert [found.key for found in lab.forge.jobs()] == [again.key]


def test_a_job_that_runs_is_not_run_again(lab: Lab) -> None:
    lab.queue()
    key = lab.start(register(lab))
    assert key is not None
    facts = lab.forge.job(key)
    assert facts is not None
    assert lab.forge.rerun(key, facts.run_id) is RerunOutcome.NOT_YET


def test_nothing_is_redelivered_where_nothing_was_lost(lab: Lab) -> None:
    lab.queue()
    assert lab.forge.redeliver(0.0) == 0
