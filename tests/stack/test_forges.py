"""The forges: runner, runner group, webhook and variables are made, repaired after drift, and removed."""

import json
from typing import Any

import pytest

from stack.live import LiveStack, github

pytestmark = [pytest.mark.localcloud, pytest.mark.engine]


def runners(stack: LiveStack) -> list[Any]:
    return (
        stack.gitlab()
        .projects.get(f"{stack.owner}/inference")
        .runners.list(get_all=True, type="project_type")
    )


def groups(stack: LiveStack) -> list[Any]:
    listed = stack.github(f"/orgs/{stack.owner}/actions/runner-groups")["runner_groups"]
    return [group for group in listed if not group["default"]]


def hooks(stack: LiveStack) -> list[Any]:
    found: list[Any] = stack.github(f"/orgs/{stack.owner}/hooks")
    return found


def test_runner_group_webhook_and_labels_are_made_as_configured_and_removed(forges: LiveStack) -> None:
    forges.up()
    runner = forges.gitlab().runners.get(runners(forges)[0].id)
    assert runner.tag_list == ["shadow-gpu"]
    assert (runner.run_untagged, runner.locked, runner.maximum_timeout) == (False, True, 3600)
    (group,) = groups(forges)
    assert (group["name"], group["visibility"]) == ("shadow-gpu", "selected")
    assert group["allows_public_repositories"] is False
    (hook,) = hooks(forges)
    assert "workflow_job" in hook["events"]
    assert hook["config"]["url"] == "http://127.0.0.1:8940/github"
    variable = forges.github(f"/orgs/{forges.owner}/actions/variables/SHADOW_GPU_LABELS")
    assert json.loads(variable["value"]) == ["self-hosted", "shadow-gpu"]
    forges.up(expect_no_changes=True)
    forges.stack.destroy()
    assert (runners(forges), groups(forges), hooks(forges)) == ([], [], [])
    assert forges.tenant.leftovers() == []


def test_drift_in_both_forges_is_repaired(forges: LiveStack) -> None:
    forges.up()
    first = forges.gitlab().runners.get(runners(forges)[0].id)
    first.run_untagged = True
    first.save()
    (group,) = groups(forges)
    github(
        forges.world,
        "PATCH",
        f"/api/v3/orgs/{forges.owner}/actions/runner-groups/{group['id']}",
        {"name": "renamed", "visibility": "all"},
    )
    (hook,) = hooks(forges)
    github(forges.world, "DELETE", f"/api/v3/orgs/{forges.owner}/hooks/{hook['id']}")
    forges.up(refresh=True)
    assert forges.gitlab().runners.get(first.id).run_untagged is False
    (again,) = groups(forges)
    assert (again["name"], again["visibility"]) == ("shadow-gpu", "selected")
    assert len(hooks(forges)) == 1


def test_a_runner_deleted_by_hand_is_made_anew(forges: LiveStack) -> None:
    forges.up()
    (first,) = runners(forges)
    forges.gitlab().runners.delete(first.id)
    forges.up(refresh=True)
    (second,) = runners(forges)
    assert second.id != first.id
