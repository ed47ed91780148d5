"""Workflow jobs and runs at GitHub: one, all that wait or run, and running failed ones again."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, Final, TypeVar

from shadow_autoscaler.adapters.event_errors import items
from shadow_autoscaler.adapters.github_client import CallError, GitHubClient
from shadow_autoscaler.adapters.github_payloads import Run, RunJob
from shadow_autoscaler.adapters.recent import Recent
from shadow_autoscaler.core.events import RerunOutcome
from shadow_autoscaler.core.faults import FailureKind
from shadow_autoscaler.core.jobs import JobFacts, JobKey, JobStatus

A = TypeVar("A")
B = TypeVar("B")
_AT_ONCE: Final = 8
_STATUSES: Final = ("queued", "in_progress")
"""In the order in which a run passes them, so that one that moves between the two calls is seen by both."""
_ALREADY_RUNNING: Final = "already running"


@dataclass(slots=True)
class Origins:
    """Whether runs come from forks, which never changes, for the runs seen last."""

    _forks: Recent[int, bool] = field(default_factory=Recent[int, bool])

    def of(self, client: GitHubClient, project: str, run_id: int) -> bool | None:
        """Whether a run's code comes from a fork; None where GitHub does not know the run any more."""
        known = self._forks.get(run_id)
        if known is not None:
            return known
        run = _run(client, project, run_id)
        return None if run is None else self.note(run)

    def note(self, run: Run) -> bool:
        """Remember a run; return whether its code comes from a fork."""
        return self._forks.put(run.id, run.fork)


def job(client: GitHubClient, origins: Origins, key: JobKey) -> JobFacts | None:
    """The job as it is now, with its origin; None where GitHub says 404."""
    path = f"/repos/{key.project}/actions/jobs/{key.job_id}"
    found = _or_none(lambda: client.get(path, RunJob.model_validate))
    if found is None:
        return None
    facts = found.facts(key.project)
    fork = origins.of(client, key.project, found.run_id)
    return facts if fork is None else replace(facts, fork=fork, known_origin=True)


def unfinished(client: GitHubClient, origins: Origins, projects: Iterable[str]) -> list[JobFacts]:
    """All jobs of these repositories that wait or run.

    Raises:
        PortError: Any call failed; half a list is never given.
    """
    runs = _flat(_each(lambda project: _runs(client, project), projects))
    for _, run in runs:
        origins.note(run)
    return _flat(_each(lambda found: _jobs(client, *found), runs))


def repositories(client: GitHubClient, owner: str, most: int) -> list[str]:
    """Full names of an organisation's repositories that can run anything, the last pushed to first."""

    def read(answer: Any) -> tuple[str, ...]:
        alive = (repo for repo in items(answer) if not repo.get("archived") and not repo.get("disabled"))
        return tuple(str(repo["full_name"]) for repo in alive)

    found: list[str] = []
    for page in client.pages(f"/orgs/{owner}/repos", read, sort="pushed", direction="desc"):
        found += page
        if len(found) >= most:
            break
    return found[:most]


def rerun(client: GitHubClient, key: JobKey, run_id: int) -> RerunOutcome:
    """Run the failed jobs of a run again, unless its attempt is not the job's any more.

    A lost answer or a person may have started the next attempt: that is a success, without a second call.
    """
    run = _run(client, key.project, run_id)
    if run is None:
        return RerunOutcome.REFUSED
    if run.run_attempt > key.attempt:
        return RerunOutcome.DONE
    if run.status != "completed":
        return RerunOutcome.NOT_YET
    try:
        client.write("POST", f"/repos/{key.project}/actions/runs/{run_id}/rerun-failed-jobs")
    except CallError as error:
        return _refusal(error)
    return RerunOutcome.DONE


def _refusal(error: CallError) -> RerunOutcome:
    if _ALREADY_RUNNING in error.failure.text.casefold() or error.status == HTTPStatus.CONFLICT:
        return RerunOutcome.NOT_YET
    if error.failure.kind in {FailureKind.REFUSED, FailureKind.CONFIG}:
        return RerunOutcome.REFUSED
    raise error


def _run(client: GitHubClient, project: str, run_id: int) -> Run | None:
    return _or_none(lambda: client.get(f"/repos/{project}/actions/runs/{run_id}", Run.model_validate))


def _runs(client: GitHubClient, project: str) -> list[tuple[str, Run]]:
    def read(answer: Any) -> tuple[Run, ...]:
        return tuple(map(Run.model_validate, items(answer["workflow_runs"])))

    path, found = f"/repos/{project}/actions/runs", dict[int, Run]()
    for status in _STATUSES:
        for page in client.pages(path, read, status=status):
            found |= {run.id: run for run in page}
    return [(project, run) for run in found.values()]


def _jobs(client: GitHubClient, project: str, run: Run) -> list[JobFacts]:
    def read(answer: Any) -> tuple[JobFacts, ...]:
        facts = (RunJob.model_validate(item).facts(project) for item in items(answer["jobs"]))
        known = (replace(one, fork=run.fork, known_origin=True) for one in facts)
        return tuple(one for one in known if one.status < JobStatus.DONE)

    path = f"/repos/{project}/actions/runs/{run.id}/jobs"
    return [one for page in client.pages(path, read, filter="latest") for one in page]


def _or_none(read: Callable[[], A]) -> A | None:
    try:
        return read()
    except CallError as error:
        if error.status not in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
            raise
        return None


def _each(work: Callable[[A], B], things: Iterable[A]) -> list[B]:
    """Do the same for each, a few at once."""
    todo = list(things)
    if len(todo) < 2:
        return [work(item) for item in todo]
    with ThreadPoolExecutor(min(_AT_ONCE, len(todo)), "github-read") as pool:
        return list(pool.map(work, todo))


def _flat(lists: Iterable[Iterable[A]]) -> list[A]:
    return [item for each in lists for item in each]
