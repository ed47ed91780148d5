"""The parts of GitLab's jobs and pipelines that matter, from webhooks and REST answers alike."""

import re
from datetime import datetime
from typing import Annotated, Final

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from shadow_autoscaler.adapters.moments import seconds
from shadow_autoscaler.core.jobs import ForgeKind, JobFacts, JobKey, JobStatus

Number = Annotated[int, Field(ge=0, lt=2**63)]
FullPath = Annotated[str, Field(pattern=r"^[^:\s]+/[^:\s]+$")]
DONE: Final = frozenset({"success", "failed", "canceled", "skipped"})
_RUNNING: Final = frozenset({"running", "canceling"})
_LONGEST_WAIT_S: Final = 31 * 86_400.0
"""GitLab drops a job that has waited for a day; what says more than a month is no duration."""
_MERGE_REQUEST: Final = re.compile(r"^refs/merge-requests/(\d+)/")


def _iso(value: object) -> object:
    """Hooks say `2026-11-30 12:00:00 UTC`, the API ISO 8601."""
    return (
        value.removesuffix(" UTC") + "+00:00" if isinstance(value, str) and value.endswith(" UTC") else value
    )


Moment = Annotated[AwareDatetime, BeforeValidator(_iso)]


def status_of(word: str) -> JobStatus:
    """Fold GitLab's statuses; all that wait for something else than a runner count as held back."""
    if word in DONE:
        return JobStatus.DONE
    if word in _RUNNING:
        return JobStatus.RUNNING
    return JobStatus.QUEUED if word == "pending" else JobStatus.WAITING


def key_of(project: str, job_id: int) -> JobKey:
    """Identity of a job: a retry is a job of its own at GitLab, so the attempt is always 1."""
    return JobKey(ForgeKind.GITLAB, project, job_id)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class _Id(_Part):
    id: Number


class _Manager(_Part):
    system_id: str = ""


class Project(_Part):
    """A project in a hook."""

    path_with_namespace: FullPath


class Job(_Part):
    """A job as the API shows it."""

    id: Number
    status: str
    name: str
    ref: str = ""
    tag_list: tuple[str, ...] = ()
    pipeline: _Id
    created_at: Moment | None = None
    started_at: Moment | None = None
    finished_at: Moment | None = None
    queued_duration: float | None = None
    failure_reason: str | None = None
    web_url: str = ""
    runner: _Id | None = None
    runner_manager: _Manager | None = None

    @property
    def merge_request(self) -> int | None:
        """Number of the merge request whose pipeline this is."""
        found = _MERGE_REQUEST.match(self.ref)
        return int(found[1]) if found else None

    @property
    def system_id(self) -> str:
        """The machine that runs it; empty before."""
        return self.runner_manager.system_id if self.runner_manager else ""

    def queued_at(self, now: float) -> float:
        """When it began to wait for a runner, which is after the jobs before it have ended."""
        return _queued_at(self.created_at, self.started_at, self.queued_duration, now)

    def facts(self, project: str, queued_at: float, runner_name: str) -> JobFacts:
        """The job in the core's words."""
        return JobFacts(
            key=key_of(project, self.id),
            status=status_of(self.status),
            name=self.name,
            labels=self.tag_list,
            run_id=self.pipeline.id,
            queued_at=queued_at,
            started_at=seconds(self.started_at),
            finished_at=seconds(self.finished_at),
            conclusion=self.status if self.status in DONE else "",
            failure_reason=self.failure_reason or "",
            runner_id=self.runner.id if self.runner else None,
            runner_name=runner_name,
            ref=self.ref,
            url=self.web_url,
        )


class HookJob(_Part):
    """A Job Hook. It names neither the job's tags nor the machine that runs it."""

    build_id: Number
    build_name: str
    build_status: str
    pipeline_id: Number
    project: Project
    ref: str = ""
    build_created_at: Moment | None = None
    build_started_at: Moment | None = None
    build_finished_at: Moment | None = None
    build_queued_duration: float | None = None
    build_failure_reason: str | None = None
    runner: _Id | None = None

    def facts(self) -> JobFacts:
        """The job in the core's words, marked as partial."""
        failed = self.build_status == "failed"
        created, started = self.build_created_at, self.build_started_at
        return JobFacts(
            key=key_of(self.project.path_with_namespace, self.build_id),
            status=status_of(self.build_status),
            name=self.build_name,
            labels=(),
            run_id=self.pipeline_id,
            queued_at=_queued_at(created, started, self.build_queued_duration, None),
            started_at=seconds(started),
            finished_at=seconds(self.build_finished_at),
            conclusion=self.build_status if self.build_status in DONE else "",
            failure_reason=(self.build_failure_reason or "") if failed else "",
            runner_id=self.runner.id if self.runner else None,
            ref=self.ref,
            known_origin=False,
            partial=True,
        )


class _Attributes(_Part):
    id: Number
    status: str
    ref: str = ""


class HookBuild(_Part):
    """A job inside a Pipeline Hook."""

    id: Number
    name: str
    status: str
    created_at: Moment | None = None
    started_at: Moment | None = None
    finished_at: Moment | None = None
    queued_duration: float | None = None
    failure_reason: str | None = None
    runner: _Id | None = None


class HookPipeline(_Part):
    """A Pipeline Hook."""

    object_attributes: _Attributes
    project: Project
    builds: tuple[HookBuild, ...] = ()

    @property
    def done(self) -> bool:
        """Whether nothing of it will run any more, unless somebody retries it."""
        return self.object_attributes.status in DONE

    def jobs(self) -> tuple[HookJob, ...]:
        """Its jobs in the form of Job Hooks."""
        run = self.object_attributes
        return tuple(
            HookJob(
                build_id=build.id,
                build_name=build.name,
                build_status=build.status,
                pipeline_id=run.id,
                project=self.project,
                ref=run.ref,
                build_created_at=build.created_at,
                build_started_at=build.started_at,
                build_finished_at=build.finished_at,
                build_queued_duration=build.queued_duration,
                build_failure_reason=build.failure_reason,
                runner=build.runner,
            )
            for build in self.builds
        )


def _queued_at(
    created: datetime | None, started: datetime | None, waited_s: float | None, now: float | None
) -> float:
    end = seconds(started) or now
    if waited_s is not None and end is not None and 0.0 <= waited_s <= _LONGEST_WAIT_S:
        return end - waited_s
    return seconds(created) or end or 0.0
