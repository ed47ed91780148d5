"""Jobs at GitLab: one, all that wait or run in the watched projects, and running one again."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from pydantic import BaseModel

from shadow_autoscaler.adapters.gitlab_client import (
    CallError,
    GitLabClient,
    time_of,
    understood,
    understood_all,
)
from shadow_autoscaler.adapters.gitlab_payloads import DONE, Job, Number, status_of
from shadow_autoscaler.adapters.gitlab_runners import Names
from shadow_autoscaler.adapters.recent import Recent
from shadow_autoscaler.core.events import RerunOutcome
from shadow_autoscaler.core.faults import FailureKind
from shadow_autoscaler.core.jobs import JobFacts, JobKey, JobStatus

_RETRIABLE: Final = DONE - {"success", "skipped"}


class _MergeRequest(BaseModel):
    source_branch: str
    source_project_id: Number | None = None
    target_project_id: Number


@dataclass(slots=True)
class Jobs:
    """Reads jobs; what never changes about them is remembered."""

    client: GitLabClient
    names: Names
    _queued: Recent[int, float] = field(default_factory=Recent[int, float])
    _origins: Recent[tuple[str, int], tuple[str, bool]] = field(
        default_factory=Recent[tuple[str, int], tuple[str, bool]]
    )

    def one(self, key: JobKey) -> JobFacts | None:
        """The job as it is now, with tags, machine and origin; None where GitLab says 404."""
        path = _path(key)
        try:
            response = self.client.get(path)
        except CallError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            return None
        return self._facts(key.project, understood(Job, response, path), time_of(response))

    def unfinished(self, projects: Iterable[str]) -> list[JobFacts]:
        """All jobs of these projects that wait for a runner or run, a call per project and hundred jobs.

        Pages go by ID, so that a job that ends in between makes none slip through.
        """
        found: list[JobFacts] = []
        for project in projects:
            path = f"/projects/{quote(project, safe='')}/jobs"
            wanted = {
                "scope[]": ["pending", "running"],
                "pagination": "keyset",
                "order_by": "id",
                "sort": "desc",
            }
            for response in self.client.pages(path, **wanted):
                now = time_of(response)
                found += [self._facts(project, job, now) for job in understood_all(Job, response, path)]
        return found

    def rerun(self, key: JobKey, run_id: int) -> RerunOutcome:
        """Retry one job, unless there is a newer one of its name.

        That one came by the project's own `retry`, by a person, or by a call of ours whose answer was lost.
        """
        job = self.client.find(_path(key), Job)
        if job is None:
            return RerunOutcome.REFUSED
        if status_of(job.status) is not JobStatus.DONE:
            return RerunOutcome.NOT_YET
        if self._repeated(key.project, run_id or job.pipeline.id, job):
            return RerunOutcome.DONE
        if job.status not in _RETRIABLE:
            return RerunOutcome.REFUSED
        try:
            self.client.write("post", f"{_path(key)}/retry")
        except CallError as error:
            if error.failure.kind is FailureKind.REFUSED:
                return RerunOutcome.REFUSED
            raise
        return RerunOutcome.DONE

    def _repeated(self, project: str, pipeline: int, job: Job) -> bool:
        path = f"/projects/{quote(project, safe='')}/pipelines/{pipeline}/jobs"
        return any(other.name == job.name and other.id > job.id for other in self.client.listed(path, Job))

    def _facts(self, project: str, job: Job, now: float | None) -> JobFacts:
        name = self.names.of(job.system_id) if job.system_id else ""
        facts = job.facts(project, self._queued_at(job, now or 0.0), name)
        if job.merge_request is None:
            return facts
        branch, fork = self._origin(project, job.merge_request)
        return replace(facts, ref=branch, fork=fork)

    def _queued_at(self, job: Job, now: float) -> float:
        if job.queued_duration is None:
            return job.queued_at(now)
        # Told as a duration, it would come out a little different each time.
        known = self._queued.get(job.id)
        return self._queued.put(job.id, job.queued_at(now)) if known is None else known

    def _origin(self, project: str, number: int) -> tuple[str, bool]:
        """Source branch of a merge request, and whether it lies in another project or one that is gone."""
        place = (project, number)
        known = self._origins.get(place)
        if known is not None:
            return known
        path = f"/projects/{quote(project, safe='')}/merge_requests/{number}"
        found = understood(_MergeRequest, self.client.get(path), path)
        fork = found.source_project_id != found.target_project_id
        return self._origins.put(place, (found.source_branch, fork))


def _path(key: JobKey) -> str:
    return f"/projects/{quote(key.project, safe='')}/jobs/{key.job_id}"
