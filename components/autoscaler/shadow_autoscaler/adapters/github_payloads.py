"""The parts of GitHub's jobs and runs that matter, from webhooks and REST answers alike."""

from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from shadow_autoscaler.adapters.moments import seconds
from shadow_autoscaler.core.jobs import ForgeKind, JobFacts, JobKey, JobStatus

Number = Annotated[int, Field(ge=0, lt=2**63)]
FullName = Annotated[str, Field(pattern=r"^[^/:\s]+/[^/:\s]+$")]
_STATUSES = {
    "requested": JobStatus.WAITING,
    "waiting": JobStatus.WAITING,
    "pending": JobStatus.WAITING,
    "queued": JobStatus.QUEUED,
    "in_progress": JobStatus.RUNNING,
    "completed": JobStatus.DONE,
}


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Repository(_Part):
    """A repository, by its full name."""

    full_name: FullName


class RunJob(_Part):
    """A job of a workflow run."""

    id: Number
    run_id: Number
    run_attempt: Number = 1
    status: str
    conclusion: str | None = None
    name: str
    labels: tuple[str, ...] = ()
    runner_id: Number | None = None
    runner_name: str | None = None
    head_branch: str | None = None
    created_at: AwareDatetime | None = None
    started_at: AwareDatetime | None = None
    completed_at: AwareDatetime | None = None
    html_url: str | None = None

    def key(self, project: str) -> JobKey:
        """The job's identity."""
        return JobKey(ForgeKind.GITHUB, project, self.id, self.run_attempt)

    def facts(self, project: str, fallback: str = "", installation_id: int | None = None) -> JobFacts:
        """The job in the core's words; `fallback` is the status where GitHub's own is a new one.

        Neither the webhook nor the job itself tells where the code comes from: `known_origin` is False.
        """
        status = _STATUSES.get(self.status, _STATUSES.get(fallback, JobStatus.WAITING))
        begun, ended = status >= JobStatus.RUNNING, status == JobStatus.DONE
        queued = self.created_at or self.started_at or self.completed_at
        return JobFacts(
            key=self.key(project),
            status=status,
            name=self.name,
            labels=self.labels,
            run_id=self.run_id,
            queued_at=seconds(queued) or 0.0,
            started_at=seconds(self.started_at) if begun else None,
            finished_at=seconds(self.completed_at) if ended else None,
            conclusion=self.conclusion or "",
            runner_id=self.runner_id if begun else None,
            runner_name=(self.runner_name or "") if begun else "",
            ref=self.head_branch or "",
            known_origin=False,
            url=self.html_url or "",
            installation_id=installation_id,
        )


class Run(_Part):
    """A workflow run in its current attempt."""

    id: Number
    status: str = ""
    run_attempt: Number = 1
    head_branch: str | None = None
    repository: Repository
    head_repository: Repository | None = None

    @property
    def fork(self) -> bool:
        """Whether the code comes from another repository; one that is gone counts as another."""
        ours = self.repository.full_name.casefold()
        return self.head_repository is None or self.head_repository.full_name.casefold() != ours
