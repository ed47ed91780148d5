"""Both adapters against the forges of the running local cloud, in an owner and a group of their own."""

import secrets
from collections.abc import Iterator

import httpx
import pytest
from contract.autoscaler.forge.labs import LABELS, new_name, pool

from localcloud.world import World
from shadow_autoscaler.adapters.github import Account, Connection, GitHubForge, Token
from shadow_autoscaler.adapters.gitlab import GitLabForge, RunnerToken
from shadow_autoscaler.core.events import Removal
from shadow_autoscaler.core.jobs import ForgeKind, JobKey, JobStatus

pytestmark = pytest.mark.localcloud


@pytest.fixture(scope="module")
def world() -> World:
    return World.load()


@pytest.fixture
def sim(world: World) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {world.sim_token}"}
    with httpx.Client(headers=headers, trust_env=False, timeout=30) as client:
        yield client


def test_github_serves_a_job(world: World, sim: httpx.Client) -> None:
    owner = f"forges-{secrets.token_hex(4)}"
    account = {"login": owner, "type": "Organization", "plan": "team"}
    assert sim.post(f"{world.github_url}/_sim/accounts", json=account).is_success
    token = {"Authorization": f"Bearer {world.github_token}"}
    repository = {"name": "jobs", "private": True}
    url = f"{world.github_url}/api/v3/orgs/{owner}/repos"
    assert httpx.post(url, json=repository, headers=token, trust_env=False).is_success
    text = f"on: push\njobs: {{a: {{runs-on: [{', '.join(LABELS)}], steps: [{{run: ls}}]}}}}"
    body = {"repository": f"{owner}/jobs", "workflow": text}
    assert sim.post(f"{world.github_url}/_sim/runs", json=body).is_success
    connection = Connection(f"{world.github_url}/api/v3")
    forge = GitHubForge(
        (Account(owner),), Token(lambda: world.github_token), "contract", connection=connection
    )
    (facts,) = forge.jobs()
    assert (facts.status, facts.labels) == (JobStatus.QUEUED, LABELS)
    assert forge.job(facts.key) == facts
    registration = forge.register(pool(ForgeKind.GITHUB), new_name(), facts.key)
    assert [runner.name for runner in forge.runners()] == [registration.runner_name]
    assert forge.deregister(registration.runner_name, registration.runner_id) is Removal.GONE
    assert forge.runners() == ()
    forge.close()


def test_gitlab_serves_a_job(world: World, sim: httpx.Client) -> None:
    path = f"forges-{secrets.token_hex(4)}/jobs"
    files = {".gitlab-ci.yml": f"a: {{script: [ls], tags: [{', '.join(LABELS)}]}}"}
    made = sim.post(f"{world.gitlab_url}/_sim/projects", json={"path": path, "files": files})
    assert made.is_success
    fields = {"runner_type": "project_type", "project_id": made.json()["id"], "tag_list": list(LABELS)}
    token = {"PRIVATE-TOKEN": world.gitlab_token}
    runner = httpx.post(
        f"{world.gitlab_url}/api/v4/user/runners", json=fields, headers=token, trust_env=False
    )
    assert runner.status_code == 201
    tokens = {"p1": RunnerToken(lambda: str(runner.json()["token"]))}
    forge = GitLabForge(lambda: world.gitlab_token, (path,), tokens, url=world.gitlab_url)
    (facts,) = forge.jobs()
    assert (facts.status, facts.labels, facts.partial) == (JobStatus.QUEUED, LABELS, False)
    assert forge.job(JobKey(ForgeKind.GITLAB, path, facts.key.job_id)) == facts
    assert forge.register(pool(ForgeKind.GITLAB), new_name(), facts.key).config["token"].startswith("glrt-")
    assert forge.deregister(new_name(), None) is Removal.GONE
    assert forge.runners() == ()
    forge.close()
