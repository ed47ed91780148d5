"""Runners: rules of `POST /user/runners`, management, managers, and the refusal of old registration."""

import secrets
from typing import Any

import gitlab
import httpx
import pytest
from gitlab.exceptions import GitlabCreateError
from gitlab.v4.objects import Project

from localcloud.gitlab.testing import Server


def create(server: Server, token: str | None = None, **fields: Any) -> httpx.Response:
    return server.api("POST", "/user/runners", token=token, json=fields)


def test_a_project_runner_has_all_its_fields(server: Server, gl: gitlab.Gitlab, project: Project) -> None:
    fields = {
        "runner_type": "project_type", "project_id": project.id, "description": "gpu",
        "maintenance_note": "note",
        "paused": True, "locked": True, "access_level": "ref_protected", "run_untagged": False,
        "tag_list": ["shadow-gpu", "rtx2000"], "maximum_timeout": 1800,
    }  # fmt: skip
    made = create(server, **fields)
    assert made.status_code == 201
    assert set(made.json()) == {"id", "token", "token_expires_at"}
    assert made.json()["token"].startswith("glrt-")
    found = gl.runners.get(made.json()["id"]).attributes
    assert {name: found[name] for name in fields if name != "project_id"} == {
        name: value for name, value in fields.items() if name != "project_id"
    }
    assert (found["status"], found["active"], found["projects"][0]["id"]) == (
        "never_contacted",
        False,
        project.id,
    )


def test_tags_may_be_one_string_with_commas(server: Server, gl: gitlab.Gitlab) -> None:
    made = create(server, runner_type="instance_type", tag_list="a, b,,a")
    assert gl.runners.get(made.json()["id"]).tag_list == ["a", "b"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "runner_type is missing, runner_type does not have a valid value"),
        ({"runner_type": "shared"}, "runner_type does not have a valid value"),
        ({"runner_type": "group_type"}, "group_id is missing"),
        ({"runner_type": "project_type", "project_id": "x"}, "project_id is invalid"),
        ({"runner_type": "instance_type", "access_level": "all"}, "access_level does not have a valid value"),
        ({"runner_type": "instance_type", "paused": "perhaps"}, "paused is invalid"),
    ],
)
def test_wrong_parameters_are_named(server: Server, fields: dict[str, Any], words: str) -> None:
    response = create(server, **fields)
    assert (response.status_code, response.json()) == (400, {"error": words})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"run_untagged": False},
            "Tags list can not be empty when runner is not allowed to pick untagged jobs",
        ),
        ({"maximum_timeout": 599}, "Maximum timeout needs to be at least 10 minutes"),
        ({"maintenance_note": "x" * 1025}, "Maintenance note is too long (maximum is 1024 characters)"),
    ],
)
def test_impossible_runners_are_refused(server: Server, fields: dict[str, Any], words: str) -> None:
    response = create(server, runner_type="instance_type", **fields)
    assert (response.status_code, response.json()["message"]) == (400, f"400 Bad request - {words}")


def test_who_may_create_which_runner(server: Server, project: Project) -> None:
    path = project.path_with_namespace
    group_path = path.rpartition("/")[0]
    maintainer = server.user(f"m{secrets.token_hex(3)}", ["create_runner"], **{path: "maintainer"})
    developer = server.user(f"d{secrets.token_hex(3)}", ["create_runner"], **{path: "developer"})
    owner = server.user(f"o{secrets.token_hex(3)}", ["create_runner"], **{group_path: "owner"})
    in_project = {"runner_type": "project_type", "project_id": project.id}
    in_group = {"runner_type": "group_type", "group_id": project.namespace["id"]}
    assert create(server, maintainer, **in_project).status_code == 201
    assert create(server, owner, **in_group).status_code == 201
    for token, fields in (
        (developer, in_project),
        (maintainer, in_group),
        (owner, {"runner_type": "instance_type"}),
    ):
        refused = create(server, token, **fields)
        assert (refused.status_code, refused.json()) == (
            403,
            {"message": "403 Forbidden - Insufficient permissions"},
        )


def test_create_runner_scope_allows_nothing_else(server: Server, project: Project) -> None:
    token = server.user(
        f"c{secrets.token_hex(3)}", ["create_runner"], **{project.path_with_namespace: "owner"}
    )
    made = create(server, token, runner_type="project_type", project_id=project.id)
    assert made.status_code == 201
    assert server.api("GET", f"/runners/{made.json()['id']}", token=token).status_code == 403
    assert server.api("DELETE", f"/runners/{made.json()['id']}", token=token).status_code == 403


def test_manage_runner_scope_may_delete(server: Server, project: Project) -> None:
    token = server.user(
        f"x{secrets.token_hex(3)}", ["manage_runner"], **{project.path_with_namespace: "owner"}
    )
    runner = server.runner(project.id)
    assert server.api("GET", f"/runners/{runner.runner_id}", token=token).status_code == 200
    assert server.api("DELETE", f"/runners/{runner.runner_id}", token=token).status_code == 204
    assert server.api("GET", f"/runners/{runner.runner_id}", token=token).status_code == 404


def test_lists_by_project_group_and_instance(server: Server, gl: gitlab.Gitlab, project: Project) -> None:
    group = gl.groups.get(project.namespace["id"])
    ids = [
        server.runner(project.id, tag_list=["p"]).runner_id,
        create(server, runner_type="group_type", group_id=group.id).json()["id"],
        create(server, runner_type="instance_type", paused=True).json()["id"],
    ]
    assert set(ids) <= {item.id for item in project.runners.list(get_all=True)}
    assert ids[0] not in {item.id for item in group.runners.list(get_all=True)}
    assert {ids[1], ids[2]} <= {item.id for item in group.runners.list(get_all=True)}
    assert set(ids) <= {item.id for item in gl.runners_all.list(get_all=True)}
    assert {item.id for item in project.runners.list(tag_list="p", get_all=True)} == {ids[0]}
    assert ids[2] in {item.id for item in gl.runners_all.list(paused=True, get_all=True)}


def test_changes_are_checked_like_creation(server: Server, gl: gitlab.Gitlab, project: Project) -> None:
    found = gl.runners.get(server.runner(project.id, tag_list=["a"], run_untagged=False).runner_id)
    found.tag_list = ["a", "b"]
    found.maximum_timeout = 900
    found.save()
    assert gl.runners.get(found.id).tag_list == ["a", "b"]
    refused = server.api("PUT", f"/runners/{found.id}", json={"tag_list": []})
    assert refused.status_code == 400


def test_one_token_serves_several_machines(server: Server, gl: gitlab.Gitlab, project: Project) -> None:
    runner = server.runner(project.id)
    info = {"version": "18.5.0", "platform": "linux", "architecture": "amd64", "executor": "docker"}
    for system_id in ("s_one", "s_two"):
        runner.system_id = system_id
        assert runner.request(info=info).status_code == 204
    managers = server.api("GET", f"/runners/{runner.runner_id}/managers").json()
    assert [(item["system_id"], item["status"]) for item in managers] == [
        ("s_two", "online"),
        ("s_one", "online"),
    ]
    assert gl.runners.get(runner.runner_id).version == "18.5.0"


def test_a_machine_leaves_and_then_the_runner(server: Server, project: Project) -> None:
    runner = server.runner(project.id)
    runner.request()
    url = f"{server.url}/api/v4/runners"
    leave = {"token": runner.token, "system_id": runner.system_id}
    assert httpx.request("DELETE", f"{url}/managers", json=leave).status_code == 204
    assert httpx.request("DELETE", f"{url}/managers", json=leave).status_code == 404
    assert httpx.request("DELETE", url, json={"token": runner.token}).status_code == 204
    assert runner.request().status_code == 403


def test_reset_gives_a_new_token_and_ends_the_old(server: Server, project: Project) -> None:
    runner = server.runner(project.id)
    fresh = server.api("POST", f"/runners/{runner.runner_id}/reset_authentication_token")
    assert fresh.status_code == 201
    assert runner.request().status_code == 403
    runner.token = fresh.json()["token"]
    assert runner.request().status_code == 204


def test_verify(server: Server, project: Project) -> None:
    runner = server.runner(project.id)
    url = f"{server.url}/api/v4/runners/verify"
    good = httpx.post(url, json={"token": runner.token, "system_id": "s_x"})
    assert (good.status_code, good.json()["id"]) == (200, runner.runner_id)
    assert httpx.post(url, json={"token": "glrt-wrong"}).status_code == 403
    assert httpx.post(url, json={}).json() == {"error": "token is missing"}


def test_registration_tokens_are_gone(server: Server) -> None:
    response = httpx.post(f"{server.url}/api/v4/runners", json={"token": "GR1348941old"})
    assert (response.status_code, response.json()) == (
        410,
        {"message": "410 Gone - runner registration disallowed"},
    )


def test_a_runner_of_two_projects_is_not_deleted(server: Server, project: Project) -> None:
    runner, other = server.runner(project.id), server.seed()
    assert (
        server.api("POST", f"/projects/{other}/runners", json={"runner_id": runner.runner_id}).status_code
        == 201
    )
    assert server.api("DELETE", f"/runners/{runner.runner_id}").status_code == 403
    assert server.api("DELETE", f"/projects/{other}/runners/{runner.runner_id}").status_code == 204
    assert server.api("DELETE", f"/runners/{runner.runner_id}").status_code == 204


def test_a_locked_runner_stays_in_its_project(server: Server, gl: gitlab.Gitlab, project: Project) -> None:
    runner, other = server.runner(project.id, locked=True), gl.projects.get(server.seed())
    with pytest.raises(GitlabCreateError, match="403"):
        other.runners.create({"runner_id": runner.runner_id})


def test_delete_respects_its_precondition(server: Server, project: Project) -> None:
    runner = server.runner(project.id)
    runner.request()
    headers = {"PRIVATE-TOKEN": server.admin_token, "If-Unmodified-Since": "Sat, 01 Jan 2000 00:00:00 GMT"}
    response = httpx.delete(f"{server.url}/api/v4/runners/{runner.runner_id}", headers=headers)
    assert response.status_code == 412


def test_project_runners_go_with_their_project(server: Server, gl: gitlab.Gitlab) -> None:
    runner = server.runner(server.seed())
    gl.projects.delete(gl.runners.get(runner.runner_id).projects[0]["id"])
    assert runner.request().status_code == 403
