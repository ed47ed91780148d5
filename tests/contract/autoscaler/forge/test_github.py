"""What is GitHub's own: groups, labels, limits, attempts, forks, Apps, deliveries."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from contract.autoscaler.forge.labs import DEPLOYMENT, LABELS, GitHubLab, new_name, pool
from contract.github.harness import Receiver

from localcloud.processes import wait_until
from shadow_autoscaler.adapters.github import Account, App, Connection, GitHubForge, Token, mark_of
from shadow_autoscaler.core.events import Removal, RerunOutcome
from shadow_autoscaler.core.faults import FailureKind, PortError
from shadow_autoscaler.core.jobs import ForgeKind, JobKey, JobStatus
from shadow_autoscaler.core.pools import Pool
from shadow_autoscaler.ports import Registration

JIT = "generate-jitconfig"
P1 = pool(ForgeKind.GITHUB)


def calls(github: GitHubLab, method: str, part: str) -> list[dict[str, Any]]:
    """Requests that the simulator saw."""
    log = github.simulator.sim("GET", "/log")
    return [line for line in log if line["method"] == method and part in line["path"]]


def register(github: GitHubLab, wanted: Pool = P1, key: JobKey | None = None) -> Registration:
    return github.forge.register(wanted, new_name(), key)


def failing(call: Callable[[], object]) -> PortError:
    with pytest.raises(PortError) as caught:
        call()
    return caught.value


def make_group(github: GitHubLab, name: str) -> int:
    made = github.api.post(f"/orgs/{github.owner}/actions/runner-groups", json={"name": name})
    assert made.status_code == 201, made.text
    return int(made.json()["id"])


def runner(github: GitHubLab, registration: Registration) -> dict[str, Any]:
    path = f"/orgs/{github.owner}/actions/runners/{registration.runner_id}"
    found: dict[str, Any] = github.api.get(path).json()
    return found


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


class TestReruns:
    """Case 7: reclaimed jobs of one run."""

    def test_two_reclaimed_jobs_of_one_run_make_one_call_once_the_run_has_ended(
        self, github: GitHubLab
    ) -> None:
        github.queue(3)
        running = [github.start(register(github)) for _ in range(3)]
        first, second, sibling = (key for key in running if key is not None)
        facts = github.forge.job(first)
        assert facts is not None
        for lost in (first, second):
            github.finish(lost, good=False)
            assert github.forge.rerun(lost, facts.run_id) is RerunOutcome.NOT_YET
        github.finish(sibling)
        answers = [github.forge.rerun(lost, facts.run_id) for lost in (first, second)]
        assert answers == [RerunOutcome.DONE, RerunOutcome.DONE]
        assert len(calls(github, "POST", "rerun-failed-jobs")) == 1
        again = github.forge.jobs()
        assert {(one.key.attempt, one.status) for one in again} == {(2, JobStatus.QUEUED)}
        assert len(again) == 2

    def test_a_failed_second_attempt_is_no_reason_to_run_the_first_again(self, github: GitHubLab) -> None:
        github.queue()
        first = github.start(register(github))
        assert first is not None
        github.finish(first, good=False)
        facts = github.forge.job(first)
        assert facts is not None
        github.forge.rerun(first, facts.run_id)
        second = github.start(register(github))
        assert second is not None
        github.finish(second, good=False)
        assert github.forge.rerun(first, facts.run_id) is RerunOutcome.DONE
        assert len(calls(github, "POST", "rerun-failed-jobs")) == 1

    def test_a_run_that_github_will_not_repeat_is_refused(self, github: GitHubLab) -> None:
        github.queue()
        good = github.start(register(github))
        assert good is not None
        github.finish(good)
        facts = github.forge.job(good)
        assert facts is not None
        assert github.forge.rerun(good, facts.run_id) is RerunOutcome.REFUSED
        assert github.forge.rerun(good, facts.run_id + 1000) is RerunOutcome.REFUSED

    def test_an_answer_that_was_lost_does_not_lead_to_a_second_attempt(self, github: GitHubLab) -> None:
        github.queue()
        key = github.start(register(github))
        assert key is not None
        github.finish(key, good=False)
        facts = github.forge.job(key)
        assert facts is not None
        rule = {"kind": "after", "path": "rerun-failed-jobs", "status": 502, "times": 1}
        github.simulator.sim("POST", "/faults", rule)
        error = failing(lambda: github.forge.rerun(key, facts.run_id))
        assert error.failure.kind is FailureKind.UNKNOWN_OUTCOME
        assert github.forge.rerun(key, facts.run_id) is RerunOutcome.DONE
        assert len(calls(github, "POST", "rerun-failed-jobs")) == 1


class TestJobs:
    def test_a_large_matrix_is_read_page_by_page(self, github: GitHubLab) -> None:
        keys = github.queue(130)
        assert len(keys) == 100
        assert len({facts.key for facts in github.forge.jobs()}) == 130

    def test_a_list_that_fails_half_way_is_no_list(self, github: GitHubLab) -> None:
        github.queue()
        github.simulator.sim("POST", "/faults", {"path": r"/runs/\d+/jobs$", "status": 502, "times": 1})
        assert failing(github.forge.jobs).failure.kind is FailureKind.TRANSIENT

    def test_code_from_a_fork_is_told(self, github: GitHubLab) -> None:
        github.repository("fork")
        run = github.simulator.sim(
            "POST",
            "/runs",
            {
                "repository": github.project,
                "workflow": "on: push\njobs: {a: {runs-on: [gpu], steps: [{run: ls}]}}",
                "head_repository": f"{github.owner}/fork",
            },
        )
        (shown,) = github.jobs_of(run["id"])
        facts = github.forge.job(github.key(shown))
        assert facts is not None
        assert (facts.fork, facts.known_origin) == (True, True)
        assert [one.fork for one in github.forge.jobs()] == [True]

    def test_the_origin_of_a_run_is_asked_once(self, github: GitHubLab) -> None:
        for key in github.queue(3):
            facts = github.forge.job(key)
            assert facts is not None
            assert facts.known_origin
        runs = [line["path"].rpartition("/actions/")[2] for line in calls(github, "GET", "/actions/runs/")]
        assert len([path for path in runs if path.count("/") == 1]) == 1

    def test_only_the_named_repositories_are_looked_into(self, github: GitHubLab) -> None:
        github.repository("other")
        github.run("on: push\njobs: {a: {runs-on: [gpu], steps: [{run: ls}]}}", f"{github.owner}/other")
        github.queue()
        named = github.make(accounts=(Account(github.owner, ("jobs",)),))
        assert {facts.key.project for facts in named.jobs()} == {github.project}
        assert len({facts.key.project for facts in github.forge.jobs()}) == 2
        named.close()

    def test_a_job_of_a_repository_that_is_not_served_is_refused_without_a_call(
        self, github: GitHubLab
    ) -> None:
        error = failing(lambda: github.forge.job(JobKey(ForgeKind.GITHUB, "somebody/else", 1)))
        assert error.failure.kind is FailureKind.REFUSED


def make_app(github: GitHubLab, *owners: str, **more: Any) -> App:
    """An App that is installed on these organisations."""
    permissions = {
        "organization_self_hosted_runners": "write",
        "actions": "write",
        "organization_hooks": "write",
        "metadata": "read",
    }
    app = github.simulator.sim("POST", "/apps", {"permissions": permissions, "owner": github.owner, **more})
    for owner in owners:
        github.simulator.sim("POST", "/installations", {"app_id": app["id"], "account": owner})
    return App(app["client_id"], lambda: str(app["pem"]))


class TestApps:
    def test_an_installation_is_found_and_its_token_serves_all_calls(self, github: GitHubLab) -> None:
        forge = github.make(credential=make_app(github, github.owner))
        (key,) = github.queue()
        assert forge.job(key) is not None
        assert len(forge.jobs()) == 1
        registration = forge.register(P1, new_name(), key)
        assert forge.deregister(registration.runner_name, registration.runner_id) is Removal.GONE
        assert len(calls(github, "POST", "/access_tokens")) == 1
        assert len(calls(github, "GET", "/installation")) == 1
        forge.close()

    def test_a_token_that_ends_early_is_renewed_once(self, github: GitHubLab) -> None:
        forge = github.make(credential=make_app(github, github.owner))
        forge.runners()
        rule = {"kind": "token_expiry", "path": JIT, "times": 1}
        github.simulator.sim("POST", "/faults", rule)
        forge.register(P1, new_name(), None)
        assert len(calls(github, "POST", "/access_tokens")) == 2
        github.simulator.sim("POST", "/faults", rule | {"times": 2})
        error = failing(lambda: forge.register(P1, new_name(), None))
        assert error.failure.kind is FailureKind.AUTH
        forge.close()

    def test_a_sign_in_that_fails_means_that_nothing_was_registered(self, github: GitHubLab) -> None:
        forge = github.make(credential=make_app(github, github.owner))
        github.simulator.sim("POST", "/faults", {"path": "access_tokens", "status": 503, "times": 1})
        error = failing(lambda: forge.register(P1, new_name(), None))
        assert error.failure.kind is FailureKind.TRANSIENT
        forge.register(P1, new_name(), None)
        assert len(forge.runners()) == 1
        forge.close()

    def test_each_job_is_served_by_its_own_organisation(self, github: GitHubLab) -> None:
        second = GitHubLab(github.simulator)
        app = make_app(github, github.owner, second.owner)
        forge = github.make(credential=app, accounts=(Account(github.owner), Account(second.owner)))
        (key,) = second.queue()
        assert {facts.key.project for facts in forge.jobs()} == {second.project}
        registration = forge.register(P1, new_name(), key)
        assert runner(second, registration)["name"] == registration.runner_name
        assert [one.name for one in forge.runners()] == [registration.runner_name]
        assert second.start(registration) == key
        assert forge.deregister(registration.runner_name, registration.runner_id) is Removal.BUSY
        second.finish(key)
        assert forge.deregister(registration.runner_name, registration.runner_id) is Removal.GONE
        forge.close()
        second.close()

    def test_an_app_that_is_not_installed_is_told(self, github: GitHubLab) -> None:
        forge = github.make(credential=make_app(github))
        failure = failing(forge.runners).failure
        assert failure.kind is FailureKind.REFUSED
        assert f"/orgs/{github.owner}/installation" in failure.text
        forge.close()

    def test_a_key_that_is_none_is_a_fault_of_the_credential(self, github: GitHubLab) -> None:
        forge = github.make(credential=App("Iv23", lambda: "no key"))
        failure = failing(forge.runners).failure
        assert failure.kind is FailureKind.AUTH
        assert "no key" not in failure.text
        forge.close()


@pytest.fixture
def receiver() -> Any:
    made = Receiver()
    yield made
    made.close()


def failed_deliveries(forge: GitHubForge, github: GitHubLab, receiver: Receiver) -> int:
    """Lose what a run and its end send, and one delivery of another kind; then have it sent again."""
    receiver.status = 500
    github.queue()
    key = github.start(register(github))
    assert key is not None
    github.finish(key)
    seen = [receiver.next().name for _ in range(6)]
    assert {"workflow_job.queued", "workflow_job.completed", "workflow_run.completed"} < set(seen)
    receiver.status = 200
    sent = 0

    def again() -> bool:
        nonlocal sent
        sent += forge.redeliver(time.time() - 600)
        return sent >= 2

    assert wait_until(again, 30)
    return sent


class TestRedelivery:
    def test_failed_deliveries_of_an_app_come_again_once(self, github: GitHubLab, receiver: Receiver) -> None:
        events = ["workflow_job", "workflow_run"]
        app = make_app(github, github.owner, events=events, webhook={"url": receiver.url, "secret": "s"})
        forge = github.make(credential=app)
        assert failed_deliveries(forge, github, receiver) == 2
        again = [receiver.next() for _ in range(2)]
        assert {one.name for one in again} == {"workflow_job.queued", "workflow_job.completed"}
        assert forge.redeliver(time.time() - 600) == 0
        restarted = github.make(credential=app)
        path = "/app/hook/deliveries"
        assert wait_until(lambda: len(calls(github, "POST", path)) == 2, 30)
        assert wait_until(lambda: restarted.redeliver(time.time() - 600) == 0, 30)
        forge.close()
        restarted.close()

    def test_failed_deliveries_of_an_organisations_hook_come_again(
        self, github: GitHubLab, receiver: Receiver
    ) -> None:
        config = {"url": receiver.url, "content_type": "json", "secret": "s"}
        body = {"name": "web", "events": ["workflow_job", "workflow_run"], "config": config}
        assert github.api.post(f"/orgs/{github.owner}/hooks", json=body).status_code == 201
        receiver.next("ping")
        forge = github.make(webhook_url=receiver.url)
        assert failed_deliveries(forge, github, receiver) == 2
        assert github.forge.redeliver(0.0) == 0
        forge.close()

    def test_what_failed_before_the_given_time_is_left_alone(
        self, github: GitHubLab, receiver: Receiver
    ) -> None:
        config = {"url": receiver.url, "content_type": "json"}
        body = {"name": "web", "events": ["workflow_job"], "config": config}
        github.api.post(f"/orgs/{github.owner}/hooks", json=body)
        receiver.next("ping")
        receiver.status = 500
        github.queue()
        receiver.next("workflow_job.queued")
        forge = github.make(webhook_url=receiver.url)
        assert forge.redeliver(time.time() + 60) == 0
        assert wait_until(lambda: forge.redeliver(time.time() - 600) == 1, 30)
        forge.close()
