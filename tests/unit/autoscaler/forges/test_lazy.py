"""What is loaded when: a forge's SDK costs half a second and is loaded only where that forge is called."""

import subprocess
import sys

import pytest

HEAVY = ("githubkit", "httpx", "gitlab", "requests", "jwt")


@pytest.mark.parametrize(
    "module", ["github", "github_events", "gitlab", "gitlab_events", "github_accounts", "gitlab_client"]
)
def test_an_import_loads_no_sdk(module: str) -> None:
    code = f"import sys, shadow_autoscaler.adapters.{module}; print(*sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert f"shadow_autoscaler.adapters.{module}" in found
    assert [name for name in HEAVY if name in found] == []


def test_a_forge_that_calls_nothing_loads_no_sdk() -> None:
    code = (
        "import sys\n"
        "from shadow_autoscaler.adapters.github import Account, GitHubForge, Token\n"
        "from shadow_autoscaler.adapters.gitlab import GitLabForge\n"
        "GitHubForge((Account('acme'),), Token(lambda: 't'), 'd1')\n"
        "GitLabForge(lambda: 't', ('a/b',), {})\n"
        "print(*sys.modules)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert [name for name in HEAVY if name in found] == []
