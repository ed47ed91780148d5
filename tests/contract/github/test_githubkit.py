"""githubkit, as a client would use it: its typed models read the simulator's answers."""

import base64
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from contract.github.harness import (
    USER_TOKEN,
    Finish,
    Forge,
    Receiver,
    StartRun,
    StartScript,
    workflow,
)
from githubkit import AppAuthStrategy, GitHub, TokenAuthStrategy
from githubkit.exception import RequestFailed

from localcloud.processes import wait_until

Client = Any


@pytest.fixture
def client(forge: Forge) -> Iterator[Client]:
    with GitHub(TokenAuthStrategy(USER_TOKEN), base_url=f"{forge.url}/api/v3/", http_cache=False) as made:
        yield made


def test_accounts_and_repositories(client: Client) -> None:
    assert client.rest.users.get_authenticated().parsed_data.login == "platform-admin"
    assert client.rest.orgs.get("acme").parsed_data.login == "acme"
    assert client.rest.repos.get("acme", "inference").parsed_data.default_branch == "main"
    names = [repo.name for repo in client.rest.repos.list_for_org("acme").parsed_data]
    assert names == ["inference", "training", "website"]
    assert client.rest.rate_limit.get().parsed_data.resources.core.limit == 5000
    assert client.rest.meta.get().parsed_data


def test_groups_runners_and_jit_configurations(client: Client) -> None:
    actions = client.rest.actions
    group = actions.create_self_hosted_runner_group_for_org("acme", name="gpu").parsed_data
    made = actions.generate_runner_jitconfig_for_org(
        "acme", name="r1", runner_group_id=group.id, labels=["gpu"]
    ).parsed_data
    assert made.runner.runner_group_id == group.id
    assert base64.b64decode(made.encoded_jit_config)
    assert actions.list_self_hosted_runners_for_org("acme").parsed_data.runners[0].name == "r1"
    assert actions.list_self_hosted_runner_groups_for_org("acme").parsed_data.total_count == 2
    assert actions.create_registration_token_for_org("acme").parsed_data.token
    actions.delete_self_hosted_runner_from_org("acme", made.runner.id)
    with pytest.raises(RequestFailed) as error:
        actions.get_self_hosted_runner_for_org("acme", made.runner.id)
    assert error.value.response.status_code == 404


def test_hooks_and_deliveries(client: Client, receiver: Receiver) -> None:
    config = {"url": receiver.url, "content_type": "json", "secret": "s"}
    hook = client.rest.orgs.create_webhook(
        "acme", data={"name": "web", "config": config, "events": ["workflow_job"]}
    ).parsed_data
    receiver.next("ping")
    orgs = client.rest.orgs
    assert wait_until(lambda: bool(orgs.list_webhook_deliveries("acme", hook.id).parsed_data), 30)
    (delivery,) = orgs.list_webhook_deliveries("acme", hook.id).parsed_data
    assert delivery.event == "ping"
    assert orgs.get_webhook_delivery("acme", hook.id, delivery.id).parsed_data.guid == delivery.guid
    assert orgs.redeliver_webhook_delivery("acme", hook.id, delivery.id).status_code == 202
    own = client.rest.repos.create_webhook(
        "acme", "inference", data={"config": config, "events": ["push"]}
    ).parsed_data
    assert client.rest.repos.get_webhook("acme", "inference", own.id).parsed_data.config.secret == "********"


def test_runs_and_jobs(
    client: Client, start_run: StartRun, jit_runner: StartScript, finished: Finish
) -> None:
    run = start_run(workflow())
    actions = client.rest.actions
    assert actions.get_workflow_run("acme", "inference", run["id"]).parsed_data.status == "queued"
    jit_runner("r1", ["self-hosted", "gpu"])
    finished(run)
    assert actions.list_workflow_runs_for_repo("acme", "inference").parsed_data.total_count == 1
    (job,) = actions.list_jobs_for_workflow_run("acme", "inference", run["id"]).parsed_data.jobs
    assert actions.get_job_for_workflow_run("acme", "inference", job.id).parsed_data.runner_name == "r1"
    assert actions.list_repo_workflows("acme", "inference").parsed_data.workflows[0].name == "ci"
    assert actions.re_run_workflow("acme", "inference", run["id"]).status_code == 201


def test_variables_and_secrets(client: Client) -> None:
    actions = client.rest.actions
    actions.create_org_variable("acme", name="A", value="x", visibility="all")
    assert actions.get_org_variable("acme", "A").parsed_data.value == "x"
    assert actions.get_org_public_key("acme").parsed_data.key


def test_files_pull_requests_comments_and_checks(client: Client) -> None:
    repos, place = client.rest.repos, ("acme", "inference")
    content = base64.b64encode(b"hello").decode()
    first = repos.create_or_update_file_contents(*place, "a.txt", message="one", content=content).parsed_data
    assert repos.get_content(*place, "a.txt").parsed_data.content.strip() == content
    client.rest.git.create_ref(*place, ref="refs/heads/topic", sha=first.commit.sha)
    repos.create_or_update_file_contents(*place, "b.txt", message="two", content=content, branch="topic")
    pull = client.rest.pulls.create(*place, title="Two", head="topic", base="main").parsed_data
    changed = client.rest.pulls.list_files(*place, pull.number).parsed_data
    assert [item.filename for item in changed] == ["b.txt"]
    comment = client.rest.issues.create_comment(*place, pull.number, body="v1").parsed_data
    client.rest.issues.update_comment(*place, comment.id, body="v2")
    assert [item.body for item in client.rest.issues.list_comments(*place, pull.number).parsed_data] == ["v2"]
    assert client.rest.pulls.list(*place).parsed_data[0].number == pull.number
    status = repos.create_commit_status(*place, first.commit.sha, state="success", context="x").parsed_data
    assert status.state == "success"
    assert repos.get_branch(*place, "topic").parsed_data.name == "topic"


def test_an_app_with_its_installations(forge: Forge) -> None:
    app = forge.sim("POST", "/apps", {"name": "x", "permissions": {"checks": "write", "contents": "write"}})
    installation = forge.sim("POST", "/installations", {"app_id": app["id"], "account": "acme"})
    base = f"{forge.url}/api/v3/"
    with GitHub(AppAuthStrategy(app["id"], app["pem"]), base_url=base, http_cache=False) as client:
        assert client.rest.apps.get_authenticated().parsed_data.id == app["id"]
        assert client.rest.apps.list_installations().parsed_data[0].id == installation["id"]
        token = client.rest.apps.create_installation_access_token(installation["id"]).parsed_data
        inside = client.with_auth(client.auth.as_installation(installation["id"]))
        check = inside.rest.checks.create(
            "acme", "inference", data={"name": "x", "head_sha": "0" * 40, "conclusion": "success"}
        )
        assert check.parsed_data.status == "completed"
    assert time.strptime(token.expires_at, "%Y-%m-%dT%H:%M:%SZ")


def test_an_error_tells_its_message(client: Client) -> None:
    with pytest.raises(RequestFailed) as error:
        client.rest.actions.generate_runner_jitconfig_for_org(
            "acme", name="r1", runner_group_id=2, labels=["gpu"]
        )
    assert isinstance(error.value.response.raw_response, httpx.Response)
    assert error.value.response.status_code == 403
