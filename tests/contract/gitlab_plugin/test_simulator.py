"""The plugin, driven as the engine does, against a simulated GitLab: every type through its whole life."""

import secrets
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from plugin_client import PluginClient, plain

from localcloud.gitlab.testing import Server

Inputs = dict[str, Any]
LIVES: dict[str, tuple[Callable[[int, int], Inputs], Inputs]] = {
    "gitlab:index/userRunner:UserRunner": (
        lambda project, _: {
            "runnerType": "project_type",
            "projectId": project,
            "description": "gpu",
            "tagLists": ["shadow-gpu", "b"],
            "untagged": False,
            "locked": True,
            "accessLevel": "ref_protected",
            "maximumTimeout": 3600,
        },
        {"tagLists": ["c"], "paused": True, "maximumTimeout": 7200, "accessLevel": "not_protected"},
    ),
    "gitlab:index/projectHook:ProjectHook": (
        lambda project, _: {
            "project": str(project),
            "url": "http://127.0.0.1:9/a",
            "jobEvents": True,
            "token": "planted-1",
        },
        {"pipelineEvents": True, "pushEvents": False, "token": "planted-2"},
    ),
    "gitlab:index/groupHook:GroupHook": (
        lambda _, group: {"group": str(group), "url": "http://127.0.0.1:9/b", "jobEvents": True},
        {"enableSslVerification": False},
    ),
    "gitlab:index/project:Project": (
        lambda _, group: {
            "name": f"app-{secrets.token_hex(3)}",
            "namespaceId": group,
            "visibilityLevel": "private",
        },
        {"description": "changed"},
    ),
    "gitlab:index/group:Group": (
        lambda _, __: {"path": f"g-{secrets.token_hex(3)}", "name": "Acme", "visibilityLevel": "private"},
        {"description": "changed"},
    ),
    "gitlab:index/projectVariable:ProjectVariable": (
        lambda project, _: {"project": str(project), "key": "MODEL", "value": "resnet", "masked": False},
        {"value": "bert-large", "protected": True},
    ),
    "gitlab:index/groupVariable:GroupVariable": (
        lambda _, group: {"group": str(group), "key": "MODEL", "value": "resnet"},
        {"value": "bert-large", "raw": True},
    ),
}


def _group(server: Server, project: int) -> int:
    return int(server.api("GET", f"/projects/{project}").json()["namespace"]["id"])


@pytest.mark.parametrize("token", LIVES)
def test_life(server: Server, plugin: PluginClient, token: str) -> None:
    project = server.seed()
    make, change = LIVES[token]
    inputs = plugin.checked(token, make(project, _group(server, project)))
    created = plugin.create(token, inputs)
    state = plain(created.properties)
    assert not plugin.diff(token, state, inputs).diffs

    seen = plugin.read(token, created.id, state, inputs)
    assert seen.id == created.id
    assert plain(seen.inputs) == inputs
    assert not plugin.diff(token, plain(seen.properties), inputs).diffs

    news = plugin.checked(token, {**inputs, **change})
    answer = plugin.diff(token, state, news)
    assert set(answer.diffs) == set(change)
    assert not answer.replaces
    after = plugin.update(token, created.id, state, news)
    assert not plugin.diff(token, after, news).diffs

    imported = plain(plugin.read(token, created.id, {}, {}).inputs)
    assert "token" not in imported
    assert {name: imported[name] for name in imported.keys() & news.keys()}.items() <= news.items()
    assert {
        field for field in inputs if field in {"runnerType", "project", "group", "url", "key", "path"}
    } <= set(imported)

    plugin.delete(token, created.id, after)
    assert plugin.read(token, created.id, after, news).id == ""
    plugin.delete(token, created.id, after)


@pytest.mark.parametrize("kind", ["reset", "http"])
def test_a_runner_whose_answer_is_lost_is_made_once(server: Server, plugin: PluginClient, kind: str) -> None:
    project = server.seed()
    fault = {"method": "POST", "path": "/user/runners$", "times": 1, "kind": kind}
    server.sim("POST", "/faults", **fault, **({"status": 502} if kind == "http" else {}))
    token = "gitlab:index/userRunner:UserRunner"
    inputs = {"runnerType": "project_type", "projectId": project, "description": "gpu", "tagLists": ["a"]}
    runner, state = plugin.made(token, inputs)
    listed = server.api("GET", f"/projects/{project}/runners", params={"type": "project_type"}).json()
    assert [str(found["id"]) for found in listed] == [runner]
    verified = server.api("POST", "/runners/verify", token="", json={"token": state["token"]})
    assert verified.status_code == 200


def test_a_token_without_the_role_is_refused_with_the_remedy(server: Server) -> None:
    project = server.seed()
    path = server.api("GET", f"/projects/{project}").json()["path_with_namespace"]
    user = server.user(f"dev-{secrets.token_hex(3)}", **{path: "developer"})
    token, inputs = "gitlab:index/userRunner:UserRunner", {"runnerType": "project_type", "projectId": project}
    with PluginClient() as client:
        client.configure(baseUrl=server.url, token=user)
        checked = client.checked(token, inputs)
        with pytest.raises(grpc.RpcError) as refused:
            client.create(token, checked)
    assert "403" in refused.value.details()
    assert "Maintainer" in refused.value.details()
    assert user not in refused.value.details()


def test_look_ups(server: Server, plugin: PluginClient) -> None:
    project = server.seed()
    found = plugin.invoke("gitlab:index/getProject:getProject", {"id": str(project)})
    by_path = plugin.invoke(
        "gitlab:index/getProject:getProject", {"pathWithNamespace": found["pathWithNamespace"]}
    )
    assert by_path["id"] == str(project)
    group = plugin.invoke("gitlab:index/getGroup:getGroup", {"groupId": _group(server, project)})
    assert group["fullPath"] == found["pathWithNamespace"].partition("/")[0]
    me = plugin.invoke("gitlab:index/getCurrentUser:getCurrentUser", {})
    assert plugin.invoke("gitlab:index/getUser:getUser", {"username": me["username"]})["id"] == me["id"]
