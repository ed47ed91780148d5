"""Follows a pipeline: waits for it, streams the job's log, says why a job waits."""

import time
from collections.abc import Iterator

from gitlab.v4.objects import Project, ProjectJob, ProjectPipeline

FINISHED = frozenset({"success", "failed", "canceled", "skipped"})


class PipelineError(RuntimeError):
    """The pipeline did not become what was expected; the text says what it was and what to look at."""


def of_commit(project: Project, sha: str, seconds: float = 20) -> ProjectPipeline:
    """Return the pipeline that the push of `sha` started.

    Raises:
        PipelineError: none started within `seconds`.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = project.pipelines.list(sha=sha, get_all=False)
        if found:
            return project.pipelines.get(next(iter(found)).id)
        time.sleep(0.2)
    raise PipelineError(f"no pipeline started for {sha[:8]}; see `scripts/localcloud logs gitlab`")


def job(project: Project, pipeline: ProjectPipeline, name: str) -> ProjectJob:
    """Return the pipeline's job of that name.

    Raises:
        PipelineError: there is none.
    """
    for entry in pipeline.jobs.list(get_all=True):
        if entry.name == name:
            return project.jobs.get(entry.id)
    raise PipelineError(f"pipeline {pipeline.id} has no job {name!r}")


def follow(project: Project, watched: ProjectJob, seconds: float = 180) -> Iterator[str]:
    """Yield the job's log as it grows until the job has finished.

    Raises:
        PipelineError: it did not finish within `seconds`; says whether it was ever picked up.
    """
    end = time.monotonic() + seconds
    seen = 0
    while True:
        current = project.jobs.get(watched.id)
        text = bytes(current.trace() or b"").decode(errors="replace")
        yield text[seen:]
        seen = len(text)
        if current.status in FINISHED:
            return
        if time.monotonic() > end:
            raise PipelineError(
                f"job {watched.id} is {current.status!r} after {seconds:.0f} s; a pending job means"
                " that no runner took it: see `scripts/localcloud status` and the runner's console log"
            )
        time.sleep(0.3)
