"""What is GitHub's own about runners: groups, labels, names, limits."""

from typing import Any

import pytest
from contract.autoscaler.forge.github_calls import JIT, P1, calls, failing, make_group, register, runner
from contract.autoscaler.forge.labs import DEPLOYMENT, LABELS, GitHubLab, new_name, pool

from shadow_autoscaler.adapters.github import Account, Connection, Token, mark_of
from shadow_autoscaler.core.events import Removal
from shadow_autoscaler.core.faults import FailureKind
from shadow_autoscaler.core.jobs import ForgeKind, JobKey, JobStatus


def test_a_runner_has_all_labels_of_its_pool_and_our_mark(github: GitHubLab) -> None:
    shown = runner(github, register(github))
    assert [label["name"] for label in shown["labels"]] == [*LABELS, mark_of(DEPLOYMENT)]
    assert (shown["ephemeral"], shown["runner_group_id"]) == (True, 1)


def test_a_group_is_found_by_its_name_once(github: GitHubLab) -> None:
    number = make_group(github, "GPU")
    wanted = pool(ForgeKind.GITHUB, runner_group="gpu")
    found = [runner(github, register(github, wanted))["runner_group_id"] for _ in range(2)]
    assert found == [number, number]
    assert len(calls(github, "GET", "/actions/runner-groups")) == 1


def test_a_group_that_was_made_anew_is_found_again(github: GitHubLab) -> None:
    wanted = pool(ForgeKind.GITHUB, runner_group="gpu")
    old = make_group(github, "gpu")
    register(github, wanted)
    github.api.delete(f"/orgs/{github.owner}/actions/runner-groups/{old}")
    new = make_group(github, "gpu")
    assert runner(github, register(github, wanted))["runner_group_id"] == new


def test_a_group_that_does_not_exist_is_a_fault_of_the_configuration(github: GitHubLab) -> None:
    make_group(github, "cpu")
    error = failing(lambda: register(github, pool(ForgeKind.GITHUB, runner_group="gpu")))
    assert error.failure.kind is FailureKind.CONFIG
    assert "'gpu'" in error.failure.text
    assert "Default, cpu" in error.failure.text
    assert calls(github, "POST", JIT) == []


def test_runners_of_a_repository_register_with_it_and_have_no_group(github: GitHubLab) -> None:
    forge = github.make(accounts=(Account(github.owner, ("jobs",), organization_runners=False),))
    registration = forge.register(P1, new_name(), JobKey(ForgeKind.GITHUB, github.project, 1))
    path = f"/repos/{github.project}/actions/runners"
    assert github.api.get(f"{path}/{registration.runner_id}").status_code == 200
    assert [one.name for one in forge.runners()] == [registration.runner_name]
    assert forge.deregister(registration.runner_name, None) is Removal.GONE
    assert github.api.get(path).json()["total_count"] == 0
    grouped = pool(ForgeKind.GITHUB, runner_group="gpu")
    error = failing(lambda: forge.register(grouped, new_name(), None))
    assert error.failure.kind is FailureKind.CONFIG
    forge.close()


def test_a_name_in_use_is_a_conflict(github: GitHubLab) -> None:
    registration = register(github)
    error = failing(lambda: github.forge.register(P1, registration.runner_name, None))
    assert error.failure.kind is FailureKind.CONFLICT


def test_runners_of_others_are_neither_listed_nor_removed(github: GitHubLab) -> None:
    others = github.make(deployment_id="other")
    foreign = others.register(P1, new_name(), None)
    ours = register(github)
    assert [one.name for one in github.forge.runners()] == [ours.runner_name]
    assert github.forge.deregister(new_name(), foreign.runner_id) is Removal.GONE
    assert [one.name for one in others.runners()] == [foreign.runner_name]
    others.close()


def test_a_full_group_is_a_quota(github: GitHubLab) -> None:
    github.simulator.sim("PATCH", "/settings", {"max_runners_per_group": 1})
    register(github)
    failure = failing(lambda: register(github)).failure
    assert (failure.kind, failure.resource) == (FailureKind.QUOTA, "runners")


def test_an_answer_lost_after_the_work_leaves_a_ghost_that_its_name_removes(github: GitHubLab) -> None:
    github.simulator.sim("POST", "/faults", {"kind": "after", "path": JIT, "status": 502, "times": 1})
    name = new_name()
    error = failing(lambda: github.forge.register(P1, name, None))
    assert error.failure.kind is FailureKind.UNKNOWN_OUTCOME
    assert len(calls(github, "POST", JIT)) == 1
    assert [one.name for one in github.forge.runners()] == [name]
    assert github.forge.deregister(name, None) is Removal.GONE
    assert github.forge.runners() == ()


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ({"status": 503}, FailureKind.UNKNOWN_OUTCOME),
        ({"status": 500}, FailureKind.UNKNOWN_OUTCOME),
        ({"kind": "conflict"}, FailureKind.CONFLICT),
        ({"status": 403, "body": {"message": "Resource not accessible"}}, FailureKind.REFUSED),
        ({"status": 404, "body": {"message": "Not Found"}}, FailureKind.REFUSED),
        ({"status": 422, "body": {"message": "no"}}, FailureKind.CONFIG),
        ({"status": 201, "body": {"runner": {"id": 1, "name": "x"}}}, FailureKind.TRANSIENT),
        ({"status": 201, "body": {"odd": 1}}, FailureKind.UNKNOWN_OUTCOME),
        ({"status": 200, "body": "<html>"}, FailureKind.UNKNOWN_OUTCOME),
        ({"status": 429, "headers": {"Retry-After": "7"}}, FailureKind.THROTTLED),
    ],
)
def test_a_refused_configuration_says_what_to_do(
    github: GitHubLab, fault: dict[str, Any], kind: FailureKind
) -> None:
    github.simulator.sim("POST", "/faults", {"path": JIT, "times": 1, **fault})
    error = failing(lambda: register(github))
    assert error.failure.kind is kind
    assert len(calls(github, "POST", JIT)) == 1


def test_a_token_that_is_refused_twice_is_a_fault_of_the_credential(github: GitHubLab) -> None:
    forge = github.make(credential=Token(lambda: "ghp_" + "x" * 36))
    error = failing(forge.runners)
    assert error.failure.kind is FailureKind.AUTH
    assert "ghp_" not in str(error)
    forge.close()


class TestLimits:
    """Case 10: a secondary limit in a burst of registrations."""

    def test_no_call_is_made_within_the_pause_that_github_asks_for(self, github: GitHubLab) -> None:
        now = [0.0]
        forge = github.make(connection=Connection(f"{github.simulator.url}/api/v3", clock=lambda: now[0]))
        for _ in range(19):
            forge.register(P1, new_name(), None)
        github.simulator.sim("POST", "/faults", {"kind": "secondary_limit", "path": JIT, "times": 1})
        refused = failing(lambda: forge.register(P1, new_name(), None)).failure
        assert (refused.kind, refused.retry_after_s) == (FailureKind.THROTTLED, 60.0)
        before = len(github.simulator.sim("GET", "/log"))
        for second in (1.0, 30.0, 59.0):
            now[0] = second
            for call in (lambda: forge.register(P1, new_name(), None), forge.runners, forge.jobs):
                assert failing(call).failure.retry_after_s == pytest.approx(60.0 - second)
        assert len(github.simulator.sim("GET", "/log")) == before
        now[0] = 60.1
        forge.register(P1, new_name(), None)
        assert len(forge.runners()) == 20
        forge.close()

    def test_an_hour_that_is_used_up_stops_that_kind_of_call_alone(self, github: GitHubLab) -> None:
        github.simulator.sim("PATCH", "/settings", {"limit_runner_registration": 1})
        register(github)
        failure = failing(lambda: register(github)).failure
        assert failure.kind is FailureKind.THROTTLED
        assert failure.retry_after_s is not None
        assert 3000 < failure.retry_after_s <= 3601  # whole seconds in `Date` and in the reset
        seen = len(calls(github, "POST", JIT))
        assert failing(lambda: register(github)).failure.kind is FailureKind.THROTTLED
        assert len(calls(github, "POST", JIT)) == seen
        assert len(github.forge.runners()) == 1

    def test_an_unchanged_list_costs_nothing_of_the_hourly_limit(self, github: GitHubLab) -> None:
        github.queue(3)

        def used() -> int:
            return int(github.api.get("/rate_limit").json()["resources"]["core"]["used"])

        first = github.forge.jobs()
        before = used()
        assert github.forge.jobs() == first
        assert used() == before
        github.start(register(github))
        assert {facts.status for facts in github.forge.jobs()} == {JobStatus.QUEUED, JobStatus.RUNNING}
