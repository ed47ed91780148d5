"""GitHub's webhooks as the core's events."""

from typing import Final

from pydantic import BaseModel, ConfigDict

from shadow_autoscaler.adapters.event_errors import MalformedEventError, parse
from shadow_autoscaler.adapters.github_payloads import Number, Repository, Run, RunJob
from shadow_autoscaler.core.events import Event, JobSeen, RunCompleted
from shadow_autoscaler.core.jobs import ForgeKind, JobKey

__all__ = ["MalformedEventError", "events"]

_ACTIONS: Final = frozenset({"queued", "waiting", "in_progress", "completed"})


class _Installation(BaseModel):
    id: Number


class _JobEvent(BaseModel):
    model_config = ConfigDict(frozen=True)
    action: str
    workflow_job: RunJob
    repository: Repository
    installation: _Installation | None = None


class _RunEvent(BaseModel):
    model_config = ConfigDict(frozen=True)
    action: str
    workflow_run: Run


class _AnyEvent(BaseModel):
    action: str | None = None


def events(name: str, body: bytes) -> tuple[Event, ...]:
    """Translate one delivery; `name` is the header `X-GitHub-Event`.

    What does not concern jobs (pings, other events, actions that a later GitHub may add) gives nothing.

    Raises:
        MalformedEventError: The body is no JSON object, or a field is missing or wrong; all are named.
    """
    action = parse(_AnyEvent, body).action
    if name == "workflow_job" and (action is None or action in _ACTIONS):
        return (_job(parse(_JobEvent, body)),)
    if name == "workflow_run" and (action is None or action == "completed"):
        return (_run(parse(_RunEvent, body).workflow_run),)
    return ()


def _job(event: _JobEvent) -> JobSeen:
    installation = event.installation.id if event.installation else None
    # A job that an approval holds back is sent as `queued` with the status `waiting`: the status counts.
    return JobSeen(event.workflow_job.facts(event.repository.full_name, event.action, installation))


def _run(run: Run) -> RunCompleted:
    return RunCompleted(JobKey(ForgeKind.GITHUB, run.repository.full_name, 0), run.id, run.run_attempt)
