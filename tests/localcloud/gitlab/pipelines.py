"""Making pipelines from CI files, for pushes, merge requests and API calls."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from localcloud.gitlab import processing, variables
from localcloud.gitlab.ci import rules
from localcloud.gitlab.ci.config import compile_file
from localcloud.gitlab.ci.loader import CiError
from localcloud.gitlab.ci.spec import CiConfig, JobSpec
from localcloud.gitlab.git import BLANK_SHA
from localcloud.gitlab.instance import Instance
from localcloud.gitlab.store import Row

FILTERED_BY_WORKFLOW = "Pipeline filtered out by workflow rules."
NO_JOBS = (
    "Pipeline will not run for the selected trigger. "
    "The rules configuration prevented any jobs from being added to the pipeline."
)
MISSING_FILE = "Missing CI config file"
SKIP_WORDS = ("[skip ci]", "[ci skip]")


@dataclass(frozen=True, slots=True)
class Wish:
    """A pipeline somebody or something asks for."""

    ref: str
    sha: str
    source: str
    user_id: int | None
    tag: bool = False
    before_sha: str = BLANK_SHA
    merge_request: Row | None = None
    variables: list[dict[str, str]] = field(default_factory=list[dict[str, str]])


class NotCreated(Exception):  # noqa: N818 - an answer, not a fault
    """Why a wished pipeline isn't made."""


def create(instance: Instance, project: Row, wish: Wish, *, keep_faulty: bool = True) -> Row:
    """Make and start a pipeline; a faulty CI file makes a failed one, or is `NotCreated`."""
    text = instance.repositories.file(project["id"], wish.sha, config_path(project))
    if text is None:
        raise NotCreated(MISSING_FILE)
    commit = instance.repositories.commit(project["id"], wish.sha)
    draft = _draft(instance, project, wish)
    try:
        config = compile_at(instance, project, wish.sha, text)
    except CiError as error:
        if not keep_faulty:
            raise NotCreated("\n".join(error.problems)) from None
        return _save(instance, draft | {"status": "failed", "yaml_errors": "\n".join(error.problems)}, [], [])
    if wish.source == "push" and commit and any(word in commit.message.lower() for word in SKIP_WORDS):
        return _save(instance, draft | {"status": "skipped"}, [], [])
    return _start(instance, project, draft, config, plan(instance, project, wish, config, draft))


def config_path(project: Row) -> str:
    """Where the project keeps its CI file."""
    return project["settings"].get("ci_config_path") or ".gitlab-ci.yml"


def compile_at(instance: Instance, project: Row, sha: str, text: bytes) -> CiConfig:
    """Compile a CI file whose local includes are read at a commit."""
    return compile_file(text, lambda path: instance.repositories.file(project["id"], sha, path))


def plan(instance: Instance, project: Row, wish: Wish, config: CiConfig, draft: Row) -> list[JobSpec]:
    """The jobs that a wish would get; raises `NotCreated` when there are none."""
    situation = _situation(instance, project, wish, config, draft)
    allowed, added = rules.workflow_allows(config, situation)
    if not allowed:
        raise NotCreated(FILTERED_BY_WORKFLOW)
    inside = replace(situation, variables=dict(situation.variables) | added)
    jobs = rules.jobs_for(config, inside)
    if not any(job.stage not in {".pre", ".post"} for job in jobs):
        raise NotCreated(NO_JOBS)
    _check_needs(jobs)
    return jobs


def draft_of(instance: Instance, project: Row, wish: Wish) -> Row:
    """The row that a wish's pipeline would have."""
    return _draft(instance, project, wish)


def _check_needs(jobs: list[JobSpec]) -> None:
    present = {base_name(job) for job in jobs} | {job.name for job in jobs}
    missing = [
        f"'{job.name}' job needs '{need.job}' job, but '{need.job}' does not exist in the pipeline. "
        "This might be because of the only, except, or rules keywords. "
        "To need a job that sometimes does not exist in the pipeline, use needs:optional."
        for job in jobs
        for need in job.needs or []
        if need.job not in present and not need.optional
    ]
    if missing:
        raise NotCreated("\n".join(missing))


def base_name(job: JobSpec) -> str:
    """The name in the CI file, without the suffix of `parallel`."""
    if job.node_index is None:
        return job.name
    return job.name.rsplit(": [", 1)[0] if job.name.endswith("]") else job.name.rsplit(" ", 1)[0]


def _draft(instance: Instance, project: Row, wish: Wish) -> Row:
    now = instance.clock.stamp()
    return {
        "project_id": project["id"], "user_id": wish.user_id, "ref": wish.ref, "tag": wish.tag,
        "sha": wish.sha,
        "before_sha": wish.before_sha, "source": wish.source, "variables": wish.variables, "created_at": now,
        "updated_at": now, "merge_request_id": wish.merge_request["id"] if wish.merge_request else None,
    }  # fmt: skip


def _situation(instance: Instance, project: Row, wish: Wish, config: CiConfig, draft: Row) -> rules.Situation:
    commit = instance.repositories.commit(project["id"], wish.sha)
    values = {key: item.value for key, item in config.variables.items()}
    values |= variables.of_pipeline(instance, project, draft, commit)
    values |= {item.key: item.value for item in variables.configured(instance, project, draft)}
    repositories = instance.repositories
    return rules.Situation(
        ref=wish.ref, tag=wish.tag, source=wish.source, variables=values,
        changed=lambda: _changed(instance, project, wish),
        files=lambda: repositories.files(project["id"], wish.sha),
    )  # fmt: skip


def _changed(instance: Instance, project: Row, wish: Wish) -> list[str] | None:
    repositories = instance.repositories
    if wish.merge_request:
        target = repositories.resolve(project["id"], wish.merge_request["target_branch"]) or wish.sha
        base = repositories.text(project["id"], "merge-base", target, wish.sha).strip()
        return repositories.changed(project["id"], base, wish.sha)
    if wish.source != "push" or wish.before_sha == BLANK_SHA:
        return None
    return repositories.changed(project["id"], wish.before_sha, wish.sha)


def _start(instance: Instance, project: Row, draft: Row, config: CiConfig, jobs: list[JobSpec]) -> Row:
    used = [stage for stage in config.stages if any(job.stage == stage for job in jobs)]
    values = {key: item.value for key, item in config.variables.items()}
    name = rules.expand(config.workflow_name, values) if config.workflow_name else None
    pipeline = _save(instance, draft | {"name": name}, jobs, used)
    instance.repositories.write_ref(project["id"], f"refs/pipelines/{pipeline['id']}", pipeline["sha"])
    processing.refresh(instance, pipeline["id"])
    return instance.store.get("pipelines", pipeline["id"])


def _save(instance: Instance, draft: Row, jobs: list[JobSpec], stages: list[str]) -> Row:
    store = instance.store
    with store.transaction():
        iids = store.query(
            "SELECT coalesce(max(iid), 0) + 1 AS next FROM pipelines WHERE project_id = ?",
            draft["project_id"],
        )
        pipeline_id = store.insert("pipelines", iid=iids[0]["next"], stages=stages, **draft)
        for job in sorted(jobs, key=lambda job: stages.index(job.stage)):
            job_id = store.insert("jobs", **_job_row(draft, pipeline_id, job, jobs, stages))
            processing.announce_job(instance, job_id)
    processing.announce_pipeline(instance, pipeline_id)
    return store.get("pipelines", pipeline_id)


def _job_row(draft: Row, pipeline_id: int, job: JobSpec, jobs: list[JobSpec], stages: list[str]) -> Row:
    needs: list[dict[str, Any]] | None = None
    if job.needs is not None:
        needs = [
            {"name": other.name, "artifacts": need.artifacts}
            for need in job.needs
            for other in jobs
            if need.job in {other.name, base_name(other)}
        ]
    return {
        "pipeline_id": pipeline_id, "project_id": draft["project_id"], "user_id": draft["user_id"],
        "name": job.name,
        "stage": job.stage, "stage_index": stages.index(job.stage), "tag_list": job.tags, "spec": asdict(job),
        "needs": needs, "run_when": job.when, "allow_failure": job.allow_failure,
        "created_at": draft["created_at"],
    }  # fmt: skip
