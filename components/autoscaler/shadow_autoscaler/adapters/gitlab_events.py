"""GitLab's webhooks as the core's events."""

from typing import Final

from pydantic import BaseModel

from shadow_autoscaler.adapters.event_errors import MalformedEventError, parse
from shadow_autoscaler.adapters.gitlab_payloads import HookJob, HookPipeline, key_of
from shadow_autoscaler.core.events import Event, JobSeen, RunCompleted
from shadow_autoscaler.core.jobs import JobStatus

__all__ = ["MalformedEventError", "events"]

_NAMES: Final = frozenset({"Job Hook", "Pipeline Hook", "System Hook"})


class _AnyHook(BaseModel):
    object_kind: str | None = None


def events(name: str, body: bytes) -> tuple[Event, ...]:
    """Translate one delivery; `name` is the header `X-Gitlab-Event`.

    Hooks name no tags, so the facts are partial: the core asks the API about jobs that may concern it. A
    Pipeline Hook tells of its jobs, too, which makes up for a Job Hook that was lost.

    Raises:
        MalformedEventError: The body is no JSON object, or a field is missing or wrong; all are named.
    """
    kind = parse(_AnyHook, body).object_kind
    if name not in _NAMES:
        return ()
    if kind == "build" or (kind is None and name == "Job Hook"):
        return (JobSeen(parse(HookJob, body).facts()),)
    if kind == "pipeline" or (kind is None and name == "Pipeline Hook"):
        return _pipeline(parse(HookPipeline, body))
    return ()


def _pipeline(hook: HookPipeline) -> tuple[Event, ...]:
    facts = (job.facts() for job in hook.jobs())
    seen: list[Event] = [JobSeen(one) for one in facts if one.status > JobStatus.WAITING]
    if hook.done:
        run = hook.object_attributes.id
        seen.append(RunCompleted(key_of(hook.project.path_with_namespace, 0), run))
    return tuple(seen)
