"""What the CI job knows about the change under test, from GitLab's or GitHub's environment."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast


@dataclass(frozen=True, slots=True)
class Job:
    """The job this process runs in; all empty outside CI."""

    provider: str = ""
    """`gitlab`, `github` or empty."""
    project: str = ""
    branch: str = ""
    """Branch of a branch pipeline; empty for merge requests."""
    commit: str = ""
    request: str = ""
    """Number of the merge or pull request; empty for none."""
    target: str = ""
    """Branch that the request goes to."""
    base: str = ""
    """Commit of the target branch that the request is compared with, as the forge names it."""
    head: str = ""
    """Newest commit of the request's branch, where what is checked out may be its merge with the target."""
    default: str = ""
    """The project's default branch."""
    url: str = ""
    runner: str = ""
    attempt: int = 1
    name: str = ""
    """The job's name in its pipeline."""

    def session_fields(self) -> dict[str, str]:
        """Return what a session keeps of the job."""
        pairs = {"provider": self.provider, "url": self.url, "runner": self.runner, "request": self.request}
        return {key: value for key, value in pairs.items() if value}


def detect(environment: Mapping[str, str]) -> Job:
    """Return the job that `environment` describes."""
    if environment.get("GITLAB_CI"):
        return _gitlab(environment)
    if environment.get("GITHUB_ACTIONS"):
        return _github(environment)
    return Job()


def _gitlab(e: Mapping[str, str]) -> Job:
    request = e.get("CI_MERGE_REQUEST_IID", "")
    return Job(
        provider="gitlab",
        project=e.get("CI_PROJECT_PATH", ""),
        branch="" if request else e.get("CI_COMMIT_BRANCH", ""),
        commit=e.get("CI_COMMIT_SHA", ""),
        request=request,
        target=e.get("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", ""),
        base=e.get("CI_MERGE_REQUEST_DIFF_BASE_SHA", ""),
        head=e.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", ""),
        default=e.get("CI_DEFAULT_BRANCH", ""),
        url=e.get("CI_JOB_URL", ""),
        runner=e.get("CI_RUNNER_DESCRIPTION", e.get("CI_RUNNER_ID", "")),
        name=e.get("CI_JOB_NAME", ""),
    )


def _github(e: Mapping[str, str]) -> Job:
    event = _event(e.get("GITHUB_EVENT_PATH", ""))
    pull = text_at(event, "pull_request", "number")
    server, project = e.get("GITHUB_SERVER_URL", ""), e.get("GITHUB_REPOSITORY", "")
    attempt = e.get("GITHUB_RUN_ATTEMPT", "1")
    return Job(
        provider="github",
        project=project,
        branch="" if pull or e.get("GITHUB_REF_TYPE") == "tag" else e.get("GITHUB_REF_NAME", ""),
        commit=e.get("GITHUB_SHA", ""),
        request=pull,
        target=e.get("GITHUB_BASE_REF", ""),
        base=text_at(event, "pull_request", "base", "sha"),
        head=text_at(event, "pull_request", "head", "sha"),
        default=text_at(event, "repository", "default_branch"),
        url=f"{server}/{project}/actions/runs/{e.get('GITHUB_RUN_ID', '')}",
        runner=e.get("RUNNER_NAME", ""),
        attempt=int(attempt) if attempt.isdecimal() else 1,
        name=e.get("GITHUB_JOB", ""),
    )


def text_at(event: Any, *keys: str) -> str:
    """Return the value at a path of keys as text, empty when it is not there."""
    for key in keys:
        event = cast("dict[str, Any]", event).get(key) if isinstance(event, dict) else None
    return "" if event is None else str(event)


def _event(path: str) -> dict[str, Any]:
    try:
        found: object = json.loads(Path(path).read_bytes()) if path else {}
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
