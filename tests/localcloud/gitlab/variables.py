"""CI variables of a pipeline and a job: predefined, CI file, group, project, pipeline, in this order."""

from fnmatch import fnmatchcase

from localcloud.gitlab.ci.spec import Variable
from localcloud.gitlab.git import Commit
from localcloud.gitlab.instance import Instance, project_url
from localcloud.gitlab.settings import REVISION, VERSION
from localcloud.gitlab.store import Row


def ref_name(pipeline: Row) -> str:
    """The branch or tag of a pipeline; of a merge request, its source branch."""
    return str(pipeline.get("source_branch") or pipeline["ref"])


def is_protected(instance: Instance, project_id: int, ref: str) -> bool:
    """Whether a branch is protected, by name or wildcard."""
    names = [row["name"] for row in instance.store.find("protected_branches", project_id=project_id)]
    return any(fnmatchcase(ref, name) for name in names)


def of_pipeline(instance: Instance, project: Row, pipeline: Row, commit: Commit | None) -> dict[str, str]:
    """Predefined variables that are known once a pipeline is planned."""
    if pipeline.get("merge_request_id"):
        merge_request = instance.store.get("merge_requests", pipeline["merge_request_id"])
        pipeline = pipeline | {"source_branch": merge_request["source_branch"]}
    protected = is_protected(instance, project["id"], pipeline["ref"])
    values = _server(instance) | _project(instance, project) | _commit(pipeline, commit, protected=protected)
    if pipeline.get("merge_request_id"):
        values |= _merge_request(project, instance.store.get("merge_requests", pipeline["merge_request_id"]))
    if pipeline.get("id"):
        url = f"{project_url(instance, project)}/-/pipelines/{pipeline['id']}"
        values |= {
            "CI_PIPELINE_ID": str(pipeline["id"]),
            "CI_PIPELINE_IID": str(pipeline["iid"]),
            "CI_PIPELINE_URL": url,
        }
        values["CI_PIPELINE_CREATED_AT"] = pipeline["created_at"]
    if pipeline["source"] == "push" and not pipeline["tag"] and _open_merge_requests(instance, pipeline):
        values["CI_OPEN_MERGE_REQUESTS"] = _open_merge_requests(instance, pipeline)
    return values | {"CI_PIPELINE_SOURCE": pipeline["source"]}


def configured(instance: Instance, project: Row, pipeline: Row) -> list[Variable]:
    """Variables set on groups, the project and the pipeline itself, later ones win."""
    protected = is_protected(instance, project["id"], pipeline["ref"])
    rows: list[Row] = []
    for owner_type, owner_id in [*_ancestors(instance, project["group_id"]), ("project", project["id"])]:
        rows += instance.store.find("variables", owner_type=owner_type, owner_id=owner_id)
    found = {row["key"]: _variable(row) for row in rows if protected or not row["protected"]}
    for item in pipeline["variables"]:
        found[item["key"]] = Variable(item["key"], item["value"], file=item.get("variable_type") == "file")
    return list(found.values())


def of_job(
    instance: Instance, project: Row, pipeline: Row, job: Row, commit: Commit | None
) -> list[Variable]:
    """Everything a job gets, in order of rising precedence; its own token is masked."""
    public = of_pipeline(instance, project, pipeline, commit) | _job(instance, project, job)
    secret = {
        "CI_JOB_TOKEN": job["token"],
        "CI_REGISTRY_PASSWORD": job["token"],
        "CI_DEPENDENCY_PROXY_PASSWORD": job["token"],
    }
    url = f"{instance.settings.url}/{project['full_path']}.git".replace(
        "://", f"://gitlab-ci-token:{job['token']}@"
    )
    found = [Variable(key, value) for key, value in public.items()]
    found += [Variable(key, value, public=False, masked=True) for key, value in secret.items()]
    found.append(Variable("CI_REPOSITORY_URL", url, public=False))
    found += [Variable(**item) for item in job["spec"]["variables"].values()]
    found += configured(instance, project, pipeline)
    return found + [Variable(item["key"], item["value"]) for item in job["variables"]]


def _variable(row: Row) -> Variable:
    return Variable(
        row["key"],
        row["value"],
        public=False,
        masked=row["masked"],
        raw=row["raw"],
        file=row["variable_type"] == "file",
    )


def _ancestors(instance: Instance, group_id: int | None) -> list[tuple[str, int]]:
    chain: list[tuple[str, int]] = []
    while group_id is not None:
        chain.insert(0, ("group", group_id))
        group_id = instance.store.get("groups", group_id)["parent_id"]
    return chain


def _server(instance: Instance) -> dict[str, str]:
    settings = instance.settings
    major, minor, patch = VERSION.split("-")[0].split(".")
    return {
        "CI": "true", "GITLAB_CI": "true", "GITLAB_FEATURES": "", "CI_SERVER": "yes",
        "CI_SERVER_NAME": "GitLab",
        "CI_SERVER_URL": settings.url, "CI_SERVER_HOST": settings.host, "CI_SERVER_PORT": str(settings.port),
        "CI_SERVER_FQDN": f"{settings.host}:{settings.port}", "CI_SERVER_PROTOCOL": "http",
        "CI_SERVER_VERSION": VERSION, "CI_SERVER_VERSION_MAJOR": major, "CI_SERVER_VERSION_MINOR": minor,
        "CI_SERVER_VERSION_PATCH": patch, "CI_SERVER_REVISION": REVISION,
        "CI_API_V4_URL": f"{settings.url}/api/v4",
        "CI_API_GRAPHQL_URL": f"{settings.url}/api/graphql",
    }  # fmt: skip


def _project(instance: Instance, project: Row) -> dict[str, str]:
    namespace = project["full_path"].rpartition("/")[0]
    return {
        "CI_PROJECT_ID": str(project["id"]), "CI_PROJECT_NAME": project["path"],
        "CI_PROJECT_TITLE": project["name"],
        "CI_PROJECT_PATH": project["full_path"], "CI_PROJECT_PATH_SLUG": slug(project["full_path"]),
        "CI_PROJECT_NAMESPACE": namespace, "CI_PROJECT_ROOT_NAMESPACE": namespace.split("/")[0],
        "CI_PROJECT_URL": project_url(instance, project), "CI_PROJECT_VISIBILITY": project["visibility"],
        "CI_PROJECT_DESCRIPTION": project["description"] or "",
        "CI_DEFAULT_BRANCH": project["default_branch"],
        "CI_CONFIG_PATH": project["settings"].get("ci_config_path") or ".gitlab-ci.yml",
    }  # fmt: skip


def _commit(pipeline: Row, commit: Commit | None, *, protected: bool) -> dict[str, str]:
    ref, sha = ref_name(pipeline), pipeline["sha"]
    values = {
        "CI_COMMIT_SHA": sha, "CI_COMMIT_SHORT_SHA": sha[:8], "CI_COMMIT_BEFORE_SHA": pipeline["before_sha"],
        "CI_COMMIT_REF_NAME": ref, "CI_COMMIT_REF_SLUG": slug(ref),
        "CI_COMMIT_REF_PROTECTED": str(protected).lower(),
        "CI_BUILD_BEFORE_SHA": pipeline["before_sha"],
    }  # fmt: skip
    if pipeline["tag"]:
        values["CI_COMMIT_TAG"] = ref
    elif not pipeline.get("merge_request_id"):
        values["CI_COMMIT_BRANCH"] = ref
    if commit:
        description = commit.message.split("\n", 1)[1].strip() if "\n" in commit.message else ""
        values |= {
            "CI_COMMIT_MESSAGE": commit.message, "CI_COMMIT_TITLE": commit.title,
            "CI_COMMIT_DESCRIPTION": description,
            "CI_COMMIT_TIMESTAMP": commit.committed_date,
            "CI_COMMIT_AUTHOR": f"{commit.author_name} <{commit.author_email}>",
        }  # fmt: skip
    return values


def _merge_request(project: Row, row: Row) -> dict[str, str]:
    return {
        "CI_MERGE_REQUEST_ID": str(row["id"]), "CI_MERGE_REQUEST_IID": str(row["iid"]),
        "CI_MERGE_REQUEST_REF_PATH": f"refs/merge-requests/{row['iid']}/head",
        "CI_MERGE_REQUEST_TITLE": row["title"],
        "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": row["source_branch"], "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": "",
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": row["target_branch"],
        "CI_MERGE_REQUEST_EVENT_TYPE": "detached",
        "CI_MERGE_REQUEST_PROJECT_ID": str(project["id"]),
        "CI_MERGE_REQUEST_PROJECT_PATH": project["full_path"],
        "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": str(project["id"]),
        "CI_MERGE_REQUEST_SOURCE_PROJECT_PATH": project["full_path"],
        "CI_MERGE_REQUEST_LABELS": ",".join(row["labels"]),
    }  # fmt: skip


def _job(instance: Instance, project: Row, job: Row) -> dict[str, str]:
    spec = job["spec"]
    values = {
        "CI_JOB_ID": str(job["id"]), "CI_JOB_NAME": job["name"], "CI_JOB_NAME_SLUG": slug(job["name"]),
        "CI_JOB_STAGE": job["stage"], "CI_JOB_URL": f"{project_url(instance, project)}/-/jobs/{job['id']}",
        "CI_JOB_STARTED_AT": job["started_at"] or "", "CI_JOB_TIMEOUT": str(job["timeout_s"] or ""),
        "CI_NODE_TOTAL": str(spec["node_total"]), "CI_REGISTRY_USER": "gitlab-ci-token",
        "CI_DEPENDENCY_PROXY_USER": "gitlab-ci-token",
    }  # fmt: skip
    if spec["node_index"]:
        values["CI_NODE_INDEX"] = str(spec["node_index"])
    if job["run_when"] == "manual":
        values["CI_JOB_MANUAL"] = "true"
    if user := instance.store.one("users", id=job["user_id"]):
        values |= {
            "GITLAB_USER_ID": str(user["id"]), "GITLAB_USER_LOGIN": user["username"],
            "GITLAB_USER_NAME": user["name"],
            "GITLAB_USER_EMAIL": user["email"],
        }  # fmt: skip
    if runner := instance.store.one("runners", id=job["runner_id"]):
        values |= {"CI_RUNNER_ID": str(runner["id"]), "CI_RUNNER_DESCRIPTION": runner["description"]}
        values["CI_RUNNER_TAGS"] = str(runner["tag_list"]).replace("'", '"')
    if spec["environment"]:
        name = str(spec["environment"]["name"])
        values |= {"CI_ENVIRONMENT_NAME": name, "CI_ENVIRONMENT_SLUG": slug(name)}
    return values


def slug(text: str) -> str:
    """Lower-case letters, digits and dashes, at most 63 characters, no dash at the ends."""
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in text.lower())
    return kept[:63].strip("-")


def _open_merge_requests(instance: Instance, pipeline: Row) -> str:
    rows = instance.store.find(
        "merge_requests", project_id=pipeline["project_id"], source_branch=pipeline["ref"], state="opened"
    )
    path = instance.store.get("projects", pipeline["project_id"])["full_path"]
    return ",".join(f"{path}!{row['iid']}" for row in rows[:4])
