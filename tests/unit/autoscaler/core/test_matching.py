"""The rule by which a job finds its pool."""

from dataclasses import replace

import pytest
from unit.autoscaler.core.samples import DEPLOYMENT, LABELS, P1, P2
from unit.autoscaler.core.world import World

from shadow_autoscaler.core import events as ev
from shadow_autoscaler.core import intents as to
from shadow_autoscaler.core.events import Source
from shadow_autoscaler.core.jobs import ForgeKind, JobFacts, JobKey, JobStatus
from shadow_autoscaler.core.matching import match
from shadow_autoscaler.core.pools import Deployment, Policy, Pool


def facts(*labels: str, forge: ForgeKind = ForgeKind.GITHUB, **words: object) -> JobFacts:
    key = JobKey(forge, str(words.pop("project", "acme/app")), 1)
    return JobFacts(key, JobStatus.QUEUED, "train", labels, 1, 0.0, **words)  # type: ignore[arg-type]


def only(pool: Pool, **policy: object) -> Deployment:
    return Deployment("d", (replace(pool, policy=Policy(**policy)),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("labels", "pool"),
    [
        (("self-hosted", "rtx2000"), "p1"),
        (("rtx2000",), "p1"),
        (("RTX2000", "Self-Hosted"), "p1"),
        (("a4500", "linux"), "p2"),
        (("self-hosted",), "p1"),
        (("rtx2000", "a4500"), ""),
        (("ubuntu-latest",), ""),
        ((), ""),
    ],
)
def test_a_job_matches_a_pool_that_has_all_its_labels(labels: tuple[str, ...], pool: str) -> None:
    assert match(facts(*labels), DEPLOYMENT).pool == pool


def test_order_is_priority_then_fewest_labels_then_name() -> None:
    few = replace(P2, name="zz", labels=("self-hosted",))
    assert match(facts("self-hosted"), Deployment("d", (P1, P2, few))).pool == "zz"
    first = replace(P2, priority=1)
    assert match(facts("self-hosted"), Deployment("d", (P1, first, few))).pool == "p2"
    assert match(facts("self-hosted"), Deployment("d", (P2, P1))).pool == "p1"


def test_a_pool_of_the_other_forge_never_matches() -> None:
    assert match(facts("shadow-gpu", forge=ForgeKind.GITLAB), DEPLOYMENT).pool == "gl"
    found = match(facts("shadow-gpu", forge=ForgeKind.GITLAB), Deployment("d", (P1,)))
    assert found.reason == "no pool is configured for gitlab"


def test_the_label_that_lacks_is_named() -> None:
    found = match(facts("self-hosted", "rtx2000", "h100"), DEPLOYMENT)
    assert found.reason == "no pool has all its labels; p1 comes closest and lacks h100"


@pytest.mark.parametrize(
    ("policy", "words", "refusal"),
    [
        ({"repositories": ("acme/lib*",)}, {}, "does not serve repository acme/app"),
        ({"repositories": ("ACME/*",)}, {}, ""),
        ({"branches": ("release/*",)}, {"ref": "main"}, "does not serve branch main"),
        ({"branches": ("release/*",)}, {"ref": "Release/1"}, ""),
        ({}, {"fork": True}, "runs no code from forks"),
        ({"forks": True}, {"fork": True}, ""),
    ],
)
def test_policy_lets_in_or_says_why_not(
    policy: dict[str, object], words: dict[str, object], refusal: str
) -> None:
    found = match(facts("rtx2000", **words), only(P1, **policy))
    assert found.pool == ("" if refusal else "p1")
    assert refusal in found.reason


def test_a_refusing_pool_leaves_the_job_to_the_next_one() -> None:
    second = replace(P2, labels=P1.labels, policy=Policy(forks=True))
    assert match(facts("rtx2000", fork=True), Deployment("d", (P1, second))).pool == "p2"


def test_a_fork_job_gets_no_vm_and_a_reason() -> None:
    world = World()
    key = world.queued(fork=True)
    assert not world.pending
    assert "forks" in world.state.jobs[key].reason


def test_where_the_code_comes_from_is_asked_before_a_vm_is_made_for_it() -> None:
    world = World()
    job = world.job(fork=True)
    unknown = replace(job, fork=False, known_origin=False)
    world.handle(ev.JobSeen(unknown))
    assert world.pending == [to.CheckJob(job.key)]
    assert "fork is not known" in world.state.jobs[job.key].reason
    world.run()
    assert not world.state.vms
    world.handle(ev.JobSeen(unknown))
    assert not world.state.vms
    assert world.state.jobs[job.key].facts.fork


def test_an_origin_that_the_forge_cannot_tell_counts_as_no_fork() -> None:
    world = World()
    job = replace(world.job(), known_origin=False)
    world.handle(ev.JobSeen(job, Source.POLL))
    assert world.vm_for(job.key).live


def test_gitlab_hooks_without_tags_ask_the_forge() -> None:
    world = World()
    key = world.queued(("shadow-gpu",), forge=ForgeKind.GITLAB)
    assert world.pending == [to.CheckJob(key)]
    world.run()
    assert world.vm_for(key).pool == "gl"
    assert world.state.jobs[key].facts.labels == ("shadow-gpu",)


def test_new_pools_match_waiting_jobs_at_the_next_look() -> None:
    world = World(deployment=Deployment("d", (P2,)))
    key = world.queued((*LABELS, "rtx2000"))
    assert "lacks rtx2000" in world.state.jobs[key].reason
    world.deployment = DEPLOYMENT
    world.list_jobs()
    assert world.vm_for(key).pool == "p1"


def test_gitlab_hooks_do_not_name_the_machine_so_the_forge_is_asked_before_bindings_change() -> None:
    world = World()
    keys = [world.queued(("shadow-gpu",), forge=ForgeKind.GITLAB, name=name) for name in ("a", "b")]
    world.run()
    first, second = (world.vm_for(key).name for key in keys)
    for vm in (first, second):
        world.boot(vm)
    world.start(keys[0], world.machine(second))
    world.tell(keys[0])
    assert world.pending == [to.CheckJob(keys[0])]
    assert world.state.jobs[keys[0]].vm == first
    world.run()
    assert world.state.jobs[keys[0]].vm == second
    assert world.state.jobs[keys[1]].vm == first
