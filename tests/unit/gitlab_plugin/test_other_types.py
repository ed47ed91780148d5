"""Hooks, variables, projects and groups."""

from typing import Any

import pytest
from gitlab_double import GitLabDouble
from plugin_client import PluginClient, plain, secret_names

HOOK = "gitlab:index/projectHook:ProjectHook"
GROUP_HOOK = "gitlab:index/groupHook:GroupHook"
PROJECT = "gitlab:index/project:Project"
GROUP = "gitlab:index/group:Group"
VARIABLE = "gitlab:index/projectVariable:ProjectVariable"
GROUP_VARIABLE = "gitlab:index/groupVariable:GroupVariable"
HOOK_INPUTS = {
    "project": "acme/app",
    "url": "https://hooks.test/",
    "token": "planted-hook-token",
    "jobEvents": True,
}


def test_hook_keeps_its_secret_and_sends_the_defaults(plugin: PluginClient, gitlab: GitLabDouble) -> None:
    answer = plugin.create(HOOK, plugin.checked(HOOK, HOOK_INPUTS))
    state = plain(answer.properties)
    assert answer.id == f"acme/app:{state['hookId']:.0f}"
    assert state["token"] == "planted-hook-token"
    assert {"token", "signingToken"} & secret_names(answer.properties) == {"token"}
    sent = next(body for body in gitlab.bodies if "url" in body)
    assert (sent["push_events"], sent["enable_ssl_verification"], sent["issues_events"]) == (
        True,
        True,
        False,
    )
    assert not plugin.diff(HOOK, state, HOOK_INPUTS).diffs


def test_hook_url_and_project_replace_and_the_rest_updates(plugin: PluginClient) -> None:
    _, state = plugin.made(HOOK, HOOK_INPUTS)
    news = {
        **HOOK_INPUTS,
        "url": "https://other.test/",
        "project": "8",
        "token": "planted-other",
        "pushEvents": False,
    }
    answer = plugin.diff(HOOK, state, news)
    assert set(answer.replaces) == {"url", "project"}
    assert set(answer.diffs) == {"url", "project", "token", "pushEvents"}


def test_removing_a_hook_event_goes_back_to_the_default(plugin: PluginClient) -> None:
    _, state = plugin.made(HOOK, HOOK_INPUTS)
    news = {name: value for name, value in HOOK_INPUTS.items() if name != "jobEvents"}
    assert list(plugin.diff(HOOK, state, news).diffs) == ["jobEvents"]


def test_imported_hook_has_its_project_but_no_token(plugin: PluginClient) -> None:
    hook, _ = plugin.made(HOOK, HOOK_INPUTS)
    inputs = plain(plugin.read(HOOK, hook, {}, {}).inputs)
    assert inputs == {"project": "acme/app", "url": "https://hooks.test/", "jobEvents": True}


def test_lost_answer_to_a_hook_finds_it_by_address(plugin: PluginClient, gitlab: GitLabDouble) -> None:
    gitlab.fail("POST", ".*/hooks", drop=True, after=True)
    plugin.made(GROUP_HOOK, {"group": "acme", "url": "https://hooks.test/"})
    assert len(gitlab.objects) == 1


@pytest.mark.parametrize(("token", "owner"), [(VARIABLE, "project"), (GROUP_VARIABLE, "group")])
def test_variable_life(plugin: PluginClient, gitlab: GitLabDouble, token: str, owner: str) -> None:
    inputs: dict[str, Any] = {owner: "acme/app", "key": "MODEL", "value": "resnet", "masked": True}
    variable, state = plugin.made(token, inputs)
    assert variable == "acme/app:MODEL:*"
    assert not plugin.diff(token, state, inputs).diffs
    after = plugin.update(token, variable, state, {**inputs, "value": "bert"})
    assert after["value"] == "bert"
    assert plain(plugin.read(token, variable, {}, {}).inputs) == {**inputs, "value": "bert", "hidden": False}
    assert list(plugin.diff(token, state, {**inputs, "key": "OTHER"}).replaces) == ["key"]
    plugin.delete(token, variable, after)
    assert not gitlab.objects


def test_project_gets_a_name_that_stays(plugin: PluginClient) -> None:
    checked = plugin.checked(PROJECT, {})
    assert checked["name"].startswith("thing-")
    again = plugin.check(PROJECT, {}, olds={"name": "thing-kept"})
    assert plain(again.inputs)["name"] == "thing-kept"


def test_project_transfer_is_an_update(plugin: PluginClient, gitlab: GitLabDouble) -> None:
    inputs = {"name": "app", "namespaceId": 3, "visibilityLevel": "internal", "sharedRunnersEnabled": False}
    project, state = plugin.made(PROJECT, inputs)
    news = {**inputs, "namespaceId": 4, "sharedRunnersEnabled": True}
    assert not plugin.diff(PROJECT, state, news).replaces
    after = plugin.update(PROJECT, project, state, news)
    assert (after["namespaceId"], after["sharedRunnersEnabled"]) == (4, True)
    assert gitlab.count("PUT", r"/projects/\d+/transfer") == 1


def test_project_runners_token_is_secret(plugin: PluginClient) -> None:
    answer = plugin.create(PROJECT, plugin.checked(PROJECT, {"name": "app"}))
    assert secret_names(answer.properties) == {"runnersToken"}


def test_project_waiting_for_removal_counts_as_gone(plugin: PluginClient, gitlab: GitLabDouble) -> None:
    project, state = plugin.made(PROJECT, {"name": "app"})
    gitlab.objects[f"/projects/{project}"]["marked_for_deletion_on"] = "2026-11-30"
    assert plugin.read(PROJECT, project, state, {}).id == ""


def test_archive_on_destroy_keeps_the_project(plugin: PluginClient, gitlab: GitLabDouble) -> None:
    project, state = plugin.made(PROJECT, {"name": "app", "archiveOnDestroy": True})
    gitlab.fail("POST", rf"/projects/{project}/archive", status=201, body={"archived": True})
    plugin.delete(PROJECT, project, state)
    assert f"/projects/{project}" in gitlab.objects
    assert gitlab.count("DELETE", ".*") == 0


def test_group_parent_replaces_and_delete_removes(plugin: PluginClient, gitlab: GitLabDouble) -> None:
    group, state = plugin.made(GROUP, {"path": "acme", "name": "Acme"})
    assert list(plugin.diff(GROUP, state, {"path": "acme", "name": "Acme", "parentId": 9}).replaces) == [
        "parentId"
    ]
    plugin.delete(GROUP, group, state)
    assert not gitlab.objects


def test_inputs_of_the_official_plugin_that_are_not_served_are_refused(plugin: PluginClient) -> None:
    assert "not served" in plugin.faults(PROJECT, {"name": "a", "importUrl": "https://x.test"})["importUrl"]


def test_functions_look_up(plugin: PluginClient) -> None:
    project, _ = plugin.made(PROJECT, {"name": "app"})
    found = plugin.invoke("gitlab:index/getProject:getProject", {"id": project})
    assert (found["id"], found["name"]) == (project, "app")
    assert plugin.invoke("gitlab:index/getCurrentUser:getCurrentUser", {})["username"] == "ci-bot"
