"""The job as a runner receives it."""

from typing import Any

from localcloud.gitlab import variables
from localcloud.gitlab.ci.spec import Variable
from localcloud.gitlab.instance import Instance
from localcloud.gitlab.shapes import as_list, tree
from localcloud.gitlab.store import Row

FEATURES = {
    "trace_sections": True, "token_mask_prefixes": ["glpat-", "glrt-", "glcbt-", "gldt-"],
    "failure_reasons": [
        "unknown_failure", "script_failure", "api_failure", "stuck_or_timeout_failure",
        "runner_system_failure",
        "missing_dependency_failure", "runner_unsupported", "stale_schedule", "job_execution_timeout",
        "archived_failure",
        "unmet_prerequisites", "scheduler_failure", "data_integrity_failure", "image_pull_failure",
        "job_canceled",
    ],
}  # fmt: skip


def build(instance: Instance, job: Row) -> dict[str, Any]:
    """The answer to `POST /jobs/request`."""
    store = instance.store
    project, pipeline = store.get("projects", job["project_id"]), store.get("pipelines", job["pipeline_id"])
    commit = instance.repositories.commit(project["id"], pipeline["sha"])
    spec = job["spec"]
    found = variables.of_job(instance, project, pipeline, job, commit)
    return {
        "id": job["id"], "token": job["token"], "allow_git_fetch": True,
        "job_info": {
            "id": job["id"], "pipeline_id": pipeline["id"], "project_full_path": project["full_path"],
            "name": job["name"], "stage": job["stage"], "project_id": project["id"],
            "project_name": project["name"], "time_in_queue_seconds": 0,
            "project_jobs_running_on_instance_runners_count": "0",
            "namespace_id": project["group_id"] or 0, "user_id": job["user_id"], "timeout_source": "project",
        },
        "git_info": _git(instance, project, pipeline, job),
        "runner_info": {"timeout": job["timeout_s"], "runner_session_url": None},
        "inputs": [], "variables": [_variable(item) for item in found],
        "steps": _steps(spec, job["timeout_s"]), "hooks": [], "image": _image(spec["image"]),
        "services": [service for item in spec["services"] if (service := _image(item))],
        "artifacts": _artifacts(spec["artifacts"]),
        "cache": [_cache(item) for item in spec["cache"]],
        "credentials": [], "dependencies": _dependencies(instance, job), "features": FEATURES,
    }  # fmt: skip


def _variable(item: Variable) -> Row:
    shown = {"key": item.key, "value": item.value, "public": item.public, "masked": item.masked}
    return shown | ({"raw": True} if item.raw else {}) | ({"file": True} if item.file else {})


def _git(instance: Instance, project: Row, pipeline: Row, job: Row) -> Row:
    url = f"{instance.settings.url}/{project['full_path']}.git".replace(
        "://", f"://gitlab-ci-token:{job['token']}@"
    )
    ref = variables.ref_name(pipeline)
    kind = "tags" if pipeline["tag"] else "heads"
    specs = [f"+refs/pipelines/{pipeline['id']}:refs/pipelines/{pipeline['id']}"]
    if pipeline["tag"]:
        specs.append(f"+refs/tags/{ref}:refs/tags/{ref}")
    elif not pipeline["merge_request_id"]:
        specs.append(f"+refs/heads/{ref}:refs/remotes/origin/{ref}")
    return {
        "repo_url": url, "repo_object_format": "sha1", "ref": ref, "sha": pipeline["sha"],
        "before_sha": pipeline["before_sha"], "ref_type": "tag" if kind == "tags" else "branch",
        "refspecs": specs,
        "depth": int(project["settings"].get("ci_default_git_depth") or 20),
        "protected": variables.is_protected(instance, project["id"], pipeline["ref"]),
    }  # fmt: skip


def _steps(spec: Row, timeout_s: int) -> list[Row]:
    script = {"name": "script", "script": spec["before_script"] + spec["script"], "timeout": timeout_s}
    steps = [script | {"when": "on_success", "allow_failure": False}]
    if spec["after_script"]:
        after = {"name": "after_script", "script": spec["after_script"], "timeout": timeout_s}
        steps.append(after | {"when": "always", "allow_failure": True})
    return steps


def _image(item: Row | None) -> Row | None:
    if not item:
        return None
    options: Row = {"executor_opts": {"docker": item["docker"]}} if item.get("docker") else {}
    keys = ("name", "entrypoint", "command", "alias", "variables", "pull_policy")
    shown: Row = {key: item.get(key) for key in keys if key in item or key in {"name", "entrypoint"}}
    return shown | options | {"ports": list[int]()}


def _artifacts(spec: Row) -> list[Row] | None:
    found: list[Row] = []
    common = {"when": spec.get("when"), "expire_in": spec.get("expire_in")}
    if spec.get("paths") or spec.get("untracked"):
        archive: Row = {
            "name": spec.get("name"), "untracked": bool(spec.get("untracked")),
            "paths": as_list(spec.get("paths")),
            "exclude": as_list(spec.get("exclude")), "artifact_type": "archive", "artifact_format": "zip",
        }  # fmt: skip
        found.append(archive | common)
    for kind, paths in tree(spec.get("reports")).items():
        if kind == "coverage_report":
            found.append(_report("cobertura", tree(paths).get("path")) | common)
        else:
            found.append(_report(kind, paths) | common)
    return found or None


def _report(kind: str, paths: Any) -> Row:
    packed = kind in {"dotenv", "junit", "cobertura"}
    return {
        "name": f"{kind}.xml" if kind == "junit" else kind, "untracked": False,
        "paths": as_list(paths),
        "exclude": [], "artifact_type": kind, "artifact_format": "gzip" if packed else "raw", "when": None,
    }  # fmt: skip


def _cache(item: Row) -> Row:
    key = item.get("key", "default")
    parts = [tree(key).get("prefix"), *as_list(tree(key).get("files"))]
    text = key if isinstance(key, str) else "-".join(str(part) for part in parts if part)
    return {
        "key": text, "untracked": bool(item.get("untracked")), "paths": item.get("paths") or [],
        "policy": item.get("policy", "pull-push"), "when": item.get("when", "on_success"),
        "fallback_keys": item.get("fallback_keys") or [],
    }  # fmt: skip


def _dependencies(instance: Instance, job: Row) -> list[Row]:
    """Earlier jobs whose archive this job downloads, with a token that opens it."""
    found: list[Row] = []
    for other in instance.store.find("jobs", pipeline_id=job["pipeline_id"], retried=False):
        if not _depends(job, other):
            continue
        archive = instance.store.one("artifacts", job_id=other["id"], file_type="archive")
        entry = {"id": other["id"], "name": other["name"], "token": job["token"]}
        if archive:
            entry["artifacts_file"] = {"filename": archive["filename"], "size": archive["size"]}
            found.append(entry)
    return found


def _depends(job: Row, other: Row) -> bool:
    wanted = job["spec"]["dependencies"]
    if wanted is not None and other["name"] not in wanted:
        return False
    if job["needs"] is not None:
        return any(need["name"] == other["name"] and need["artifacts"] for need in job["needs"])
    return bool(other["stage_index"] < job["stage_index"])
