"""Pulumi's GitHub provider, the real one, against the simulator: make, read again, repair drift, remove."""

import os
import subprocess
from pathlib import Path

import httpx
import pytest
from contract.github.harness import ROOT, USER_TOKEN, Forge

pytestmark = pytest.mark.engine

PROGRAM = """
import pulumi, pulumi_github as github
provider = github.Provider("p", base_url="{url}/", token="{token}", owner="acme", write_delay_ms=1)
made = pulumi.ResourceOptions(provider=provider)
found = github.get_repository_output(full_name="acme/inference", opts=pulumi.InvokeOptions(provider=provider))
chosen = dict(visibility="selected", selected_repository_ids=[found.repo_id])
hook = dict(url="http://127.0.0.1:9/hook", content_type="json", secret="planted")
github.ActionsRunnerGroup("group", name="gpu", **chosen, opts=made)
github.OrganizationWebhook("hook", events=["workflow_job"], configuration=hook, opts=made)
github.RepositoryWebhook("own", repository="inference", events=["push"], configuration=hook, opts=made)
github.ActionsOrganizationVariable("shared", variable_name="A", value="x", **chosen, opts=made)
github.ActionsVariable("variable", repository="inference", variable_name="B", value="x", opts=made)
github.ActionsOrganizationSecret("secret", secret_name="S", plaintext_value="s", visibility="all", opts=made)
"""


class Program:
    """A Pulumi program in a folder of its own, with its state beside it."""

    def __init__(self, folder: Path, forge: Forge) -> None:
        self.folder = folder
        python = {"name": "python", "options": {"virtualenv": str(ROOT / ".venv")}}
        (folder / "Pulumi.yaml").write_text(f"name: provider-test\nruntime: {python}\n")
        (folder / "__main__.py").write_text(PROGRAM.format(url=forge.url, token=USER_TOKEN))
        (folder / "state").mkdir()

    def pulumi(self, *arguments: str) -> str:
        """Output of the command, which must succeed."""
        own = {"PULUMI_BACKEND_URL": f"file://{self.folder / 'state'}", "PULUMI_CONFIG_PASSPHRASE": "x"}
        script = f'environment=$("{ROOT}/scripts/engine" --env) && eval "$environment" && exec pulumi "$@"'
        done = subprocess.run(
            ["bash", "-c", script, "pulumi", *arguments],
            cwd=self.folder,
            env={**os.environ, **own},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def program(tmp_path: Path, forge: Forge) -> Program:
    made = Program(tmp_path, forge)
    made.pulumi("stack", "init", "test")
    return made


def test_the_provider_makes_reads_repairs_and_removes_everything(program: Program, api: httpx.Client) -> None:
    quiet = ("--yes", "--non-interactive", "--skip-preview")
    program.pulumi("up", *quiet)
    program.pulumi("preview", "--refresh", "--expect-no-changes", "--non-interactive")
    group = api.get("/orgs/acme/actions/runner-groups").json()["runner_groups"][1]
    (hook,) = api.get("/orgs/acme/hooks").json()
    api.patch(f"/orgs/acme/actions/runner-groups/{group['id']}", json={"name": "drift"})
    api.patch(f"/orgs/acme/hooks/{hook['id']}", json={"events": ["push"]})
    api.delete("/orgs/acme/actions/variables/A")
    program.pulumi("up", "--refresh", *quiet)
    assert api.get(f"/orgs/acme/actions/runner-groups/{group['id']}").json() == group
    assert api.get(f"/orgs/acme/hooks/{hook['id']}").json()["events"] == ["workflow_job"]
    assert api.get("/orgs/acme/actions/variables/A").json()["value"] == "x"
    program.pulumi("destroy", *quiet)
    assert api.get("/orgs/acme/actions/runner-groups").json()["total_count"] == 1
    assert api.get("/orgs/acme/hooks").json() == api.get("/repos/acme/inference/hooks").json() == []
    assert api.get("/orgs/acme/actions/secrets").json()["total_count"] == 0
