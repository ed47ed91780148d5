"""A runner registration through its whole life."""

import grpc
import pytest
from gitlab_double import GitLabDouble
from plugin_client import UNKNOWN, PluginClient, Secret, half_made, plain, secret_names

RUNNER = "gitlab:index/userRunner:UserRunner"
INPUTS = {"runnerType": "project_type", "projectId": 7, "description": "gpu", "tagLists": ["shadow-gpu", "a"]}


def test_preview_knows_the_inputs_and_nothing_that_gitlab_decides(
    plugin: PluginClient, gitlab: GitLabDouble
) -> None:
    answer = plugin.create(RUNNER, plugin.checked(RUNNER, INPUTS), preview=True)
    state = plain(answer.properties)
    assert state["token"] is UNKNOWN
    assert state["paused"] is UNKNOWN
    assert state["description"] == "gpu"
    assert "token" in secret_names(answer.properties)
    assert gitlab.count("POST", ".*") == 0


def test_create_gives_a_secret_token_and_the_observed_state(
    plugin: PluginClient, gitlab: GitLabDouble
) -> None:
    answer = plugin.create(RUNNER, plugin.checked(RUNNER, INPUTS))
    state = plain(answer.properties)
    assert state["token"] == f"glrt-planted-{answer.id}-token"
    assert secret_names(answer.properties) == {"token"}
    assert state["projectId"] == 7
    assert state["untagged"] is True
    sent = next(body for body in gitlab.bodies if body.get("runner_type"))
    assert sent == {
        "runner_type": "project_type",
        "project_id": 7,
        "description": "gpu",
        "tag_list": ["shadow-gpu", "a"],
    }


def test_an_unchanged_program_has_no_diff_even_with_tags_in_another_order(plugin: PluginClient) -> None:
    _, state = plugin.made(RUNNER, INPUTS)
    assert not plugin.diff(RUNNER, state, {**INPUTS, "tagLists": ["a", "shadow-gpu"]}).diffs


@pytest.mark.parametrize(
    ("change", "replaced"),
    [
        ({"runnerType": "instance_type"}, ["runnerType"]),
        ({"projectId": 8}, ["projectId"]),
        ({"projectId": UNKNOWN}, ["projectId"]),
        ({"description": "other"}, []),
        ({"tagLists": ["a"]}, []),
        ({"paused": True}, []),
        ({"maximumTimeout": 3600}, []),
    ],
)
def test_only_type_and_owner_replace(
    plugin: PluginClient, change: dict[str, object], replaced: list[str]
) -> None:
    _, state = plugin.made(RUNNER, INPUTS)
    answer = plugin.diff(RUNNER, state, {**INPUTS, **change})
    assert list(answer.diffs) == list(change)
    assert list(answer.replaces) == replaced
    assert set(answer.detailedDiff) == set(change)


def test_a_property_left_out_keeps_what_gitlab_has(plugin: PluginClient) -> None:
    _, state = plugin.made(RUNNER, {**INPUTS, "paused": True})
    assert not plugin.diff(RUNNER, state, INPUTS).diffs


def test_ignored_changes_are_no_changes(plugin: PluginClient) -> None:
    _, state = plugin.made(RUNNER, INPUTS)
    assert not plugin.diff(RUNNER, state, {**INPUTS, "tagLists": ["b"]}, ignore=["tagLists[0]"]).diffs


def test_update_sends_only_what_changed_and_keeps_the_token(
    plugin: PluginClient, gitlab: GitLabDouble
) -> None:
    runner, state = plugin.made(RUNNER, INPUTS)
    after = plugin.update(RUNNER, runner, state, {**INPUTS, "description": "new", "paused": True})
    assert next(body for body in reversed(gitlab.bodies) if body) == {"description": "new", "paused": True}
    assert after["token"] == state["token"]
    assert after["description"] == "new"


def test_refresh_shows_drift_and_keeps_the_token(plugin: PluginClient, gitlab: GitLabDouble) -> None:
    runner, state = plugin.made(RUNNER, INPUTS)
    gitlab.objects[f"/runners/{runner}"]["tag_list"] = ["by-hand"]
    answer = plugin.read(RUNNER, runner, state, INPUTS)
    assert plain(answer.properties)["tagLists"] == ["by-hand"]
    assert plain(answer.inputs) == {**INPUTS, "tagLists": ["by-hand"]}
    assert plain(answer.properties)["token"] == state["token"]
    assert "token" in secret_names(answer.properties)
    assert list(plugin.diff(RUNNER, plain(answer.properties), INPUTS).diffs) == ["tagLists"]


def test_a_runner_removed_by_hand_leaves_the_state(plugin: PluginClient, gitlab: GitLabDouble) -> None:
    runner, state = plugin.made(RUNNER, INPUTS)
    gitlab.objects.clear()
    assert plugin.read(RUNNER, runner, state, INPUTS).id == ""


def test_import_reads_inputs_from_gitlab(plugin: PluginClient) -> None:
    runner, _ = plugin.made(RUNNER, INPUTS)
    inputs = plain(plugin.read(RUNNER, runner, {}, {}).inputs)
    assert {name: inputs[name] for name in INPUTS} == INPUTS
    assert "token" not in inputs


def test_delete_twice_is_no_error(plugin: PluginClient, gitlab: GitLabDouble) -> None:
    runner, state = plugin.made(RUNNER, INPUTS)
    plugin.delete(RUNNER, runner, state)
    plugin.delete(RUNNER, runner, state)
    assert not gitlab.objects


def test_every_fault_of_the_inputs_is_reported_at_once(plugin: PluginClient) -> None:
    faults = plugin.faults(
        RUNNER,
        {
            "runnerType": "group_type",
            "projectId": 7,
            "accessLevel": "open",
            "maximumTimeout": 60,
            "maintenanceNote": "x" * 1025,
            "untagged": False,
            "tagList": ["a"],
            "locked": "yes",
        },
    )
    owner = {"groupId", "projectId"}
    values = {"accessLevel", "maximumTimeout", "maintenanceNote", "locked"}
    assert set(faults) == owner | values | {"tagLists", "tagList"}
    assert "tagLists" in faults["tagList"]
    assert "600" in faults["maximumTimeout"]


def test_unknown_inputs_pass_the_check(plugin: PluginClient) -> None:
    assert not plugin.faults(
        RUNNER, {"runnerType": "project_type", "projectId": UNKNOWN, "tagLists": [UNKNOWN]}
    )


def test_secret_inputs_stay_secret_in_state(plugin: PluginClient) -> None:
    inputs = {**INPUTS, "description": Secret("hush")}
    checked = plugin.check(RUNNER, inputs).inputs
    assert "description" in secret_names(checked)
    assert "description" in secret_names(plugin.create(RUNNER, inputs).properties)


def test_a_lost_answer_finds_the_runner_and_takes_it_over(plugin: PluginClient, gitlab: GitLabDouble) -> None:
    gitlab.fail("POST", "/user/runners", drop=True, after=True)
    runner, state = plugin.made(RUNNER, INPUTS)
    assert len(gitlab.objects) == 1
    assert state["token"] == f"glrt-planted-{runner}-fresh"


def test_an_answer_lost_before_gitlab_acted_is_repeated_once(
    plugin: PluginClient, gitlab: GitLabDouble
) -> None:
    gitlab.fail("POST", "/user/runners", drop=True)
    plugin.made(RUNNER, INPUTS)
    assert len(gitlab.objects) == 1
    assert gitlab.count("POST", "/user/runners") == 2


def test_a_twin_that_was_there_before_is_never_taken_over(plugin: PluginClient, gitlab: GitLabDouble) -> None:
    first, _ = plugin.made(RUNNER, INPUTS)
    gitlab.fail("POST", "/user/runners", status=502)
    second, _ = plugin.made(RUNNER, INPUTS)
    assert first != second
    assert gitlab.count("POST", ".*/reset_authentication_token") == 0


def test_a_post_that_fails_twice_ends_with_an_error(plugin: PluginClient, gitlab: GitLabDouble) -> None:
    gitlab.fail("POST", "/user/runners", status=503, times=9)
    with pytest.raises(grpc.RpcError) as failed:
        plugin.made(RUNNER, INPUTS)
    assert gitlab.count("POST", "/user/runners") == 2
    assert "/api/v4/user/runners" in failed.value.details()


def test_a_runner_that_cannot_be_read_back_is_kept_with_its_token(
    plugin: PluginClient, gitlab: GitLabDouble
) -> None:
    gitlab.fail("GET", r"/runners/\d+", status=500)
    with pytest.raises(grpc.RpcError) as failed:
        plugin.made(RUNNER, INPUTS)
    kept = half_made(failed.value)
    assert plain(kept.properties)["token"] == f"glrt-planted-{kept.id}-token"
    assert "token" in secret_names(kept.properties)
    assert "glrt-" not in failed.value.details()
    assert not plugin.diff(RUNNER, plain(kept.properties), INPUTS).diffs
