"""Pipelines: create, list, show, retry, cancel, delete, and CI lint."""

from typing import Any

from localcloud.gitlab import jobs, pipelines, present, processing, triggers
from localcloud.gitlab.access import DEVELOPER, MAINTAINER, OWNER
from localcloud.gitlab.api.core import Api, Call, paged
from localcloud.gitlab.api.jobs import shown as job_shown
from localcloud.gitlab.ci.loader import CiError
from localcloud.gitlab.clock import seconds_between
from localcloud.gitlab.errors import bad_request, not_found, refused
from localcloud.gitlab.git import BLANK_SHA
from localcloud.gitlab.pipelines import NotCreated, Wish
from localcloud.gitlab.store import Row

api = Api()


def _detail(call: Call, project: Row, row: Row) -> Row:
    coverage = [
        job["coverage"] for job in processing.latest(call.instance, row["id"]) if job["coverage"] is not None
    ]
    return present.pipeline_brief(call.instance, project, row) | {
        "before_sha": row["before_sha"], "tag": row["tag"], "yaml_errors": row["yaml_errors"],
        "user": present.user_by_id(call.instance, row["user_id"]), "started_at": row["started_at"],
        "finished_at": row["finished_at"], "committed_at": None, "archived": False,
        "duration": seconds_between(row["started_at"], row["finished_at"]),
        "queued_duration": seconds_between(row["created_at"], row["started_at"]),
        "coverage": f"{sum(coverage) / len(coverage):.2f}" if coverage else None,
        "detailed_status": _detailed_status(row),
    }  # fmt: skip


def _detailed_status(row: Row) -> Row:
    text = "passed" if row["status"] == "success" else str(row["status"])
    path = f"/-/pipelines/{row['id']}"
    return {
        "icon": f"status_{row['status']}", "text": text.capitalize(), "label": text, "group": row["status"],
        "tooltip": text, "has_details": True, "details_path": path, "illustration": None, "favicon": "",
    }  # fmt: skip


def _pipeline(call: Call, level: int = 0) -> tuple[Row, Row]:
    project = call.project(level)
    row = call.store.one("pipelines", id=call.number("pipeline_id"), project_id=project["id"])
    if row is None:
        raise not_found()
    return project, row


def _filtered(call: Call, project: Row) -> list[Row]:
    rows = call.store.find("pipelines", project_id=project["id"])
    for name in ("ref", "sha", "status", "source", "username", "name"):
        if wanted := call.params.text(name):
            rows = [row for row in rows if row.get(name) == wanted]
    if since := call.params.text("updated_after"):
        rows = [row for row in rows if row["updated_at"] > since]
    if scope := call.params.text("scope"):
        rows = [
            row
            for row in rows
            if row["status"] == scope or (scope == "finished" and row["status"] in processing.COMPLETE)
        ]
    return rows if call.params.text("sort") == "asc" else rows[::-1]


@api.get("/projects/{id}/pipelines")
def index(call: Call) -> Any:
    """Pipelines of a project, newest first."""
    project = call.project()
    return paged(
        call, _filtered(call, project), lambda row: present.pipeline_brief(call.instance, project, row)
    )


@api.get("/projects/{id}/pipelines/latest")
def newest(call: Call) -> Row:
    """The newest pipeline of a ref."""
    project = call.project()
    rows = call.store.find(
        "pipelines", project_id=project["id"], ref=call.params.text("ref") or project["default_branch"]
    )
    if not rows:
        raise not_found("Pipeline")
    return _detail(call, project, rows[-1])


@api.post("/projects/{id}/pipeline")
def create(call: Call) -> Row:
    """Run a pipeline for a branch or tag, with variables."""
    project, ref = call.project(DEVELOPER), call.params.need("ref")
    variables = _variables(call)
    call.params.check()
    sha = call.instance.repositories.resolve(project["id"], ref)
    if sha is None or ref == sha:
        raise refused(400, {"base": ["Reference not found"]})
    tag = f"refs/tags/{ref}" in call.instance.repositories.refs(project["id"])
    wish = Wish(ref=ref, sha=sha, source="api", user_id=call.user["id"], tag=tag, variables=variables)
    try:
        made = pipelines.create(call.instance, project, wish, keep_faulty=False)
    except NotCreated as reason:
        raise refused(400, {"base": [str(reason)]}) from None
    return _detail(call, project, made)


def _variables(call: Call) -> list[dict[str, str]]:
    items = call.params.objects("variables", "key")
    return [
        {
            "key": str(item["key"]),
            "value": str(item.get("value", "")),
            "variable_type": str(item.get("variable_type", "env_var")),
        }
        for item in items
    ]


@api.get("/projects/{id}/pipelines/{pipeline_id}")
def show(call: Call) -> Row:
    """One pipeline."""
    project, row = _pipeline(call)
    return _detail(call, project, row)


@api.get("/projects/{id}/pipelines/{pipeline_id}/jobs")
def pipeline_jobs(call: Call) -> Any:
    """Jobs of a pipeline; those that were retried only with `include_retried`."""
    _, row = _pipeline(call)
    scope, retried = call.params.strings("scope"), call.params.boolean("include_retried", default=False)
    call.params.check()
    rows = [
        job
        for job in call.store.find("jobs", pipeline_id=row["id"])
        if (retried or not job["retried"]) and (not scope or job["status"] in scope)
    ]
    return paged(call, rows[::-1], lambda job: job_shown(call.instance, job))


@api.get("/projects/{id}/pipelines/{pipeline_id}/variables")
def pipeline_variables(call: Call) -> list[Row]:
    """Variables the pipeline was started with."""
    _, row = _pipeline(call, DEVELOPER)
    return [{"variable_type": "env_var", "raw": False} | item for item in row["variables"]]


@api.post("/projects/{id}/pipelines/{pipeline_id}/retry")
def retry(call: Call) -> Row:
    """Retry the failed and canceled jobs."""
    project, row = _pipeline(call, DEVELOPER)
    with call.store.transaction():
        for job in processing.latest(call.instance, row["id"]):
            if job["status"] in {"failed", "canceled"}:
                jobs.again(call.instance, job, call.user["id"])
    return _detail(call, project, call.store.get("pipelines", row["id"]))


@api.post("/projects/{id}/pipelines/{pipeline_id}/cancel")
def cancel(call: Call) -> Row:
    """Cancel all unfinished jobs."""
    project, row = _pipeline(call, DEVELOPER)
    for job in processing.latest(call.instance, row["id"]):
        if job["status"] in jobs.CANCELABLE:
            jobs.cancel(call.instance, job)
    return _detail(call, project, call.store.get("pipelines", row["id"]))


@api.delete("/projects/{id}/pipelines/{pipeline_id}")
def remove(call: Call) -> None:
    """Delete a pipeline with its jobs; only the owner may."""
    project, row = _pipeline(call, OWNER)
    call.instance.repositories.write_ref(project["id"], f"refs/pipelines/{row['id']}", BLANK_SHA)
    call.store.delete("pipelines", id=row["id"])


@api.get("/projects/{id}/ci/lint")
def lint_stored(call: Call) -> Row:
    """Check the CI file at `content_ref` (default branch when missing)."""
    project = call.project()
    ref = call.params.text("content_ref") or call.params.text("sha") or project["default_branch"]
    sha = call.instance.repositories.resolve(project["id"], ref)
    if sha is None:
        raise not_found("Reference")
    text = call.instance.repositories.file(project["id"], sha, pipelines.config_path(project))
    if text is None:
        return _lint_answer(["Please provide content of .gitlab-ci.yml"], [])
    return _lint(call, project, sha, ref, text)


@api.post("/projects/{id}/ci/lint")
def lint_given(call: Call) -> Row:
    """Check a CI file sent as `content`; answers 200 in every case."""
    project, text = (
        call.project(MAINTAINER if call.params.boolean("dry_run") else DEVELOPER),
        call.params.need("content"),
    )
    call.params.check()
    ref = call.params.text("ref") or project["default_branch"]
    sha = call.instance.repositories.resolve(project["id"], ref) or BLANK_SHA
    return _lint(call, project, sha, ref, text.encode())


def _lint(call: Call, project: Row, sha: str, ref: str, text: bytes) -> Row:
    try:
        config = pipelines.compile_at(call.instance, project, sha, text)
    except CiError as error:
        return _lint_answer(error.problems, [])
    planned = config.jobs
    if call.params.boolean("dry_run"):
        wish = Wish(ref=ref, sha=sha, source="push", user_id=call.user["id"])
        try:
            planned = pipelines.plan(
                call.instance, project, wish, config, pipelines.draft_of(call.instance, project, wish)
            )
        except NotCreated as reason:
            return _lint_answer([str(reason)], [])
    listed = [
        {"name": job.name, "stage": job.stage, "script": job.script, "before_script": job.before_script,
         "after_script": job.after_script, "tag_list": job.tags, "when": job.when,
         "allow_failure": job.allow_failure,
         "needs": None if job.needs is None else [{"name": need.job} for need in job.needs],
         "environment": job.environment and job.environment.get("name")}
        for job in planned
    ]  # fmt: skip
    return _lint_answer([], listed) | {"merged_yaml": text.decode(errors="replace")}


def _lint_answer(errors: list[str], listed: list[Row]) -> Row:
    return {
        "valid": not errors,
        "errors": errors,
        "warnings": [],
        "merged_yaml": None,
        "includes": [],
        "jobs": listed,
    }


@api.post("/projects/{id}/merge_requests/{iid}/pipelines")
def for_merge_request(call: Call) -> Row:
    """Run a merge request pipeline."""
    project = call.project(DEVELOPER)
    row = call.store.one("merge_requests", project_id=project["id"], iid=call.number("iid"))
    if row is None:
        raise not_found()
    try:
        made = pipelines.create(
            call.instance, project, triggers.merge_request_wish(row, call.user), keep_faulty=False
        )
    except NotCreated as reason:
        raise bad_request(str(reason)) from None
    return _detail(call, project, made)


@api.get("/projects/{id}/merge_requests/{iid}/pipelines")
def of_merge_request(call: Call) -> list[Row]:
    """Pipelines of a merge request, its branch's included, newest first."""
    project = call.project()
    row = call.store.one("merge_requests", project_id=project["id"], iid=call.number("iid"))
    if row is None:
        raise not_found()
    sql = (
        "SELECT * FROM pipelines WHERE merge_request_id = ? OR (project_id = ? AND ref = ?) ORDER BY id DESC"
    )
    found = call.store.query(sql, row["id"], project["id"], row["source_branch"])
    return [present.pipeline_brief(call.instance, project, item) for item in found]
