"""The REST API through python-gitlab: look-ups, permissions, paging, repository, refusals."""

import secrets
from typing import Any

import gitlab
import httpx
import pytest
from gitlab.exceptions import GitlabAuthenticationError, GitlabCreateError, GitlabGetError
from gitlab.v4.objects import Project

from localcloud.gitlab.testing import Server


def test_version_and_user(gl: gitlab.Gitlab) -> None:
    gl.auth()
    assert gl.user is not None
    assert gl.user.username == "root"
    assert int(gl.version()[0].split(".")[0]) >= 17


def test_a_project_is_found_by_id_and_by_path(gl: gitlab.Gitlab, project: Project) -> None:
    found = gl.projects.get(project.path_with_namespace)
    assert found.id == project.id
    assert found.http_url_to_repo.endswith(f"/{project.path_with_namespace}.git")


def test_no_token_and_a_wrong_token_are_refused(server: Server) -> None:
    for token in ("", "glpat-wrong"):
        response = server.api("GET", "/user", token=token)
        assert (response.status_code, response.json()) == (401, {"message": "401 Unauthorized"})


def test_a_bearer_token_works_too(server: Server) -> None:
    headers = {"Authorization": f"Bearer {server.admin_token}"}
    assert httpx.get(f"{server.url}/api/v4/user", headers=headers).json()["username"] == "root"


def test_jobs_by_keyset_go_on_where_the_page_ended(server: Server) -> None:
    number = server.seed({".gitlab-ci.yml": "many: {script: [a], parallel: 5}"})
    query = {"pagination": "keyset", "order_by": "id", "sort": "desc", "per_page": 2}
    first = server.api("GET", f"/projects/{number}/jobs", params=query)
    pages = [[job["id"] for job in first.json()]]
    server.sim("POST", f"/jobs/{pages[0][0]}/finish", status="success")
    while "next" in first.links:
        following = httpx.URL(first.links["next"]["url"])
        first = server.api("GET", f"/projects/{number}/jobs", params=dict(following.params))
        pages.append([job["id"] for job in first.json()])
    assert [len(page) for page in pages] == [2, 2, 1]
    numbers = [job for page in pages for job in page]
    assert numbers == sorted(numbers, reverse=True)
    assert "x-page" not in first.headers


def test_a_stranger_sees_no_private_project(server: Server, project: Project) -> None:
    stranger = server.user("stranger")
    response = server.api("GET", f"/projects/{project.id}", token=stranger)
    assert (response.status_code, response.json()) == (404, {"message": "404 Project Not Found"})


def test_a_developer_can_push_but_not_manage(server: Server, project: Project) -> None:
    developer = server.user(f"dev-{secrets.token_hex(3)}", None, **{project.path_with_namespace: "developer"})
    file: dict[str, Any] = {"branch": "feature", "start_branch": "main", "commit_message": "m", "actions": []}
    assert server.api("GET", f"/projects/{project.id}", token=developer).status_code == 200
    assert (
        server.api(
            "POST", f"/projects/{project.id}/hooks", token=developer, json={"url": "http://127.0.0.1:1"}
        ).status_code
        == 403
    )
    file["actions"] = [{"action": "create", "file_path": "a", "content": "1"}]
    assert (
        server.api(
            "POST", f"/projects/{project.id}/repository/commits", token=developer, json=file
        ).status_code
        == 201
    )


def test_a_read_only_token_cannot_write(server: Server) -> None:
    reader = server.user("reader", ["read_api"])
    response = server.api("POST", "/groups", token=reader, json={"name": "g", "path": "g"})
    assert response.status_code == 403
    assert response.json()["error"] == "insufficient_scope"


def test_an_expired_token_says_so(server: Server) -> None:
    made = server.sim("POST", "/users", username="late", expires_at="2020-01-01")
    response = server.api("GET", "/user", token=made["token"])
    assert response.status_code == 401
    assert response.json()["error"] == "invalid_token"


def test_a_revoked_token_stops_working(server: Server) -> None:
    token = server.user("leaver")
    own = server.api("GET", "/personal_access_tokens/self", token=token).json()
    assert server.api("DELETE", f"/personal_access_tokens/{own['id']}", token=token).status_code == 204
    assert server.api("GET", "/user", token=token).json()["error_description"].startswith("Token was revoked")


def test_groups_and_projects_are_made_changed_and_deleted(gl: gitlab.Gitlab) -> None:
    name = f"g{secrets.token_hex(4)}"
    group = gl.groups.create({"name": "Group", "path": name})
    inner = gl.groups.create({"name": "Inner", "path": "inner", "parent_id": group.id})
    made = gl.projects.create({"name": "App", "namespace_id": inner.id, "initialize_with_readme": True})
    assert made.path_with_namespace == f"{name}/inner/app"
    made.description = "changed"
    made.save()
    assert gl.projects.get(made.id).description == "changed"
    assert [item.id for item in group.projects.list(include_subgroups=True)] == [made.id]
    group.delete()
    with pytest.raises(GitlabGetError, match="404"):
        gl.projects.get(made.id)


def test_a_taken_path_is_refused(gl: gitlab.Gitlab, project: Project) -> None:
    group = gl.groups.get(project.namespace["id"])
    with pytest.raises(GitlabCreateError, match="has already been taken"):
        gl.projects.create({"name": "demo", "namespace_id": group.id})


def test_variables_of_projects_and_groups(gl: gitlab.Gitlab, project: Project) -> None:
    made = project.variables.create({"key": "SECRET", "value": "s3cr3t-value", "masked": True})
    made.value = "other-value"
    made.save()
    assert project.variables.get("SECRET").value == "other-value"
    with pytest.raises(GitlabCreateError, match="has already been taken"):
        project.variables.create({"key": "SECRET", "value": "s3cr3t-value"})
    group = gl.groups.get(project.namespace["id"])
    group.variables.create({"key": "SHARED", "value": "x"})
    assert [item.key for item in group.variables.list(get_all=True)] == ["SHARED"]


@pytest.mark.parametrize("fields", [{"key": "A B", "value": "x"}, {"key": "A", "value": "x", "masked": True}])
def test_impossible_variables_are_refused(project: Project, fields: dict[str, Any]) -> None:
    with pytest.raises(GitlabCreateError) as refused:
        project.variables.create(fields)
    assert refused.value.response_code == 400


def test_files_branches_commits_and_tags(project: Project) -> None:
    project.branches.create({"branch": "topic", "ref": "main"})
    file = {"file_path": "src/a b.txt", "branch": "topic", "content": "one", "commit_message": "Add\n\nbody"}
    project.files.create(file)
    assert project.files.raw("src/a b.txt", ref="topic") == b"one"
    found = project.files.get("src/a b.txt", ref="topic")
    found.content = "two"
    found.save(branch="topic", commit_message="Change")
    assert [item.title for item in project.commits.list(ref_name="topic", get_all=True)][:2] == [
        "Change",
        "Add",
    ]
    assert project.branches.get("topic").protected is False
    assert project.branches.get("main").protected is True
    project.tags.create({"tag_name": "v1", "ref": "topic"})
    assert project.tags.list(get_all=True)[0].commit["title"] == "Change"
    project.branches.delete("topic")
    with pytest.raises(GitlabGetError, match="404"):
        project.branches.get("topic")


def test_every_missing_parameter_is_named(server: Server) -> None:
    response = server.api("POST", "/groups", json={})
    assert (response.status_code, response.json()) == (400, {"error": "name is missing, path is missing"})


def test_lists_are_paged(gl: gitlab.Gitlab, project: Project) -> None:
    for number in range(45):
        project.variables.create({"key": f"V{number}", "value": "x"})
    assert len(project.variables.list(get_all=True)) == 45
    assert len(list(project.variables.list(iterator=True, per_page=7))) == 45
    page = project.variables.list(page=3, per_page=20)
    assert [item.key for item in page] == [f"V{number}" for number in range(40, 45)]


def test_merge_requests_with_one_updating_comment(project: Project) -> None:
    project.branches.create({"branch": "topic", "ref": "main"})
    project.files.create({"file_path": "b", "branch": "topic", "content": "1", "commit_message": "b"})
    request = project.mergerequests.create(
        {"source_branch": "topic", "target_branch": "main", "title": "Topic"}
    )
    note = request.notes.create({"body": "cost before"})
    note.body = "cost after"
    note.save()
    assert [item.body for item in request.notes.list(get_all=True)] == ["cost after"]
    with pytest.raises(GitlabCreateError, match="Another open merge request"):
        project.mergerequests.create({"source_branch": "topic", "target_branch": "main", "title": "Again"})
    changes: Any = request.changes()
    assert [item["new_path"] for item in changes["changes"]] == ["b"]
    request.merge()
    assert project.mergerequests.get(request.iid).state == "merged"
    assert project.files.raw("b", ref="main") == b"1"


def test_commit_statuses(project: Project) -> None:
    sha = project.commits.list(get_all=False)[0].id
    project.commits.get(sha).statuses.create({"state": "pending", "name": "gate"})
    project.commits.get(sha).statuses.create({"state": "success", "name": "gate", "description": "ok"})
    found = project.commits.get(sha).statuses.list(get_all=True)
    assert [(item.name, item.status) for item in found] == [("gate", "success")]


def test_a_wrong_login_fails_in_python_gitlab(server: Server) -> None:
    with (
        gitlab.Gitlab(server.url, private_token="glpat-wrong") as client,
        pytest.raises(GitlabAuthenticationError),
    ):
        client.auth()


def test_an_unknown_path_is_answered_in_json(server: Server) -> None:
    response = server.api("GET", "/nothing/here")
    assert (response.status_code, response.json()) == (404, {"error": "404 Not Found"})
