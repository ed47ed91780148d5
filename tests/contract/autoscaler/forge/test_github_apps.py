"""What is GitHub's own about Apps: installations, their tokens, and failed deliveries."""

import time
from typing import Any

import pytest
from contract.autoscaler.forge.github_calls import JIT, P1, calls, failing, register, runner
from contract.autoscaler.forge.labs import GitHubLab, new_name
from contract.github.harness import Receiver

from localcloud.processes import wait_until
from shadow_autoscaler.adapters.github import Account, App, GitHubForge
from shadow_autoscaler.core.events import Removal
from shadow_autoscaler.core.faults import FailureKind


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
