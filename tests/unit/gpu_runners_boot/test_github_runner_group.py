"""GitHubRunnerGroup: what it asks GitHub for, that the webhook's secret stays secret, and its refusals."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pulumi
import pulumi_github as github
import pytest

from shadow_gpu_runners.github_runner_group import GitHubRunnerGroup, GitHubRunnerGroupArgs
from shadow_gpu_runners.testing import Invocation, Recording, record

SECRET = "planted-6f1d9a40c2be77"
IDS = {"inference": 1001, "acme/training": 1002}
WORKFLOW = "acme/inference/.github/workflows/gpu.yml@refs/heads/main"


def answer(call: Invocation) -> Mapping[str, Any]:
    return {"repoId": IDS[call.args.get("fullName") or call.args["name"]]}


def made(args: GitHubRunnerGroupArgs, *, preview: bool = False) -> Recording:
    def program() -> None:
        provider = github.Provider("github", token="t", owner="acme", base_url="http://127.0.0.1:9/")
        GitHubRunnerGroup("gpu", args, pulumi.ResourceOptions(provider=provider))

    return record(program, answer=answer, preview=preview)


def refusal(args: Mapping[str, Any], name: str = "gpu") -> str:
    with pytest.raises(pulumi.InputPropertiesError) as caught:
        record(lambda: GitHubRunnerGroup(name, args) and None)  # type: ignore[arg-type]
    return str(caught.value)


def test_group_is_for_selected_private_repositories_by_default() -> None:
    recording = made({"repositories": ["inference", "acme/training"], "repository_ids": [7]})
    assert dict(recording.named("gpu-group").inputs) == {
        "name": "gpu",
        "visibility": "selected",
        "selectedRepositoryIds": [1001, 1002, 7],
        "allowsPublicRepositories": False,
        "restrictedToWorkflows": False,
    }
    assert [item.type.split(":")[-1] for item in recording.resources if item.custom] == [
        "github",
        "ActionsRunnerGroup",
    ]


def test_group_for_all_with_certain_workflows() -> None:
    inputs = (
        made({"visibility": "all", "workflows": [WORKFLOW], "group_name": "GPUs"}).named("gpu-group").inputs
    )
    assert inputs["selectedWorkflows"] == [WORKFLOW]
    assert inputs["restrictedToWorkflows"] is True
    assert inputs["name"] == "GPUs"
    assert "selectedRepositoryIds" not in inputs


def webhook(**more: Any) -> GitHubRunnerGroupArgs:
    return {
        "repositories": ["inference", "acme/training"],
        "webhook": {"url": "https://ci.test/github", "secret": SECRET, **more},  # type: ignore[typeddict-item]
    }


def test_organisation_webhook_announces_jobs_in_signed_json() -> None:
    recording = made(webhook())
    hook = recording.named("gpu-webhook")
    assert hook.type == "github:index/organizationWebhook:OrganizationWebhook"
    assert dict(hook.inputs) == {
        "active": True,
        "events": ["workflow_job"],
        "configuration": {
            "url": "https://ci.test/github",
            "contentType": "json",
            "insecureSsl": False,
            "secret": SECRET,
        },
    }
    assert recording.outputs_of("gpu")["webhookIds"] == {"organization": "gpu-webhook-id"}
    assert recording.outputs_of("gpu")["webhookUrl"] == "https://ci.test/github"


def test_scope_repositories_makes_a_webhook_and_variables_in_each() -> None:
    recording = made(
        {**webhook(events=["workflow_job", "workflow_run"]), "scope": "repositories", "labels": ["x"]}
    )
    # Registrations wait for outputs, so their order is not given.
    hooks = {hook.name: hook.inputs for hook in recording.of_type("RepositoryWebhook")}
    assert {name: inputs["repository"] for name, inputs in hooks.items()} == {
        "gpu-webhook-inference": "inference",
        "gpu-webhook-acme-training": "training",
    }
    assert hooks["gpu-webhook-inference"]["events"] == ["workflow_job", "workflow_run"]
    variables = recording.of_type("ActionsVariable")
    assert {each.inputs["repository"]: each.inputs["value"] for each in variables} == {
        "inference": '["x"]',
        "training": '["x"]',
    }
    assert set(recording.outputs_of("gpu")["webhookIds"]) == {"inference", "acme/training"}


def test_variables_are_for_the_group_s_repositories() -> None:
    args: GitHubRunnerGroupArgs = {
        "repositories": ["inference"],
        "labels": ["self-hosted", "shadow-gpu"],
        "variables": {"SHADOW_REGION": "FRSBG01"},
    }
    labels, region = (
        made(args).named(f"gpu-{name}").inputs for name in ("SHADOW_GPU_LABELS", "SHADOW_REGION")
    )
    assert json.loads(labels["value"]) == ["self-hosted", "shadow-gpu"]
    assert labels["visibility"] == "selected"
    assert labels["selectedRepositoryIds"] == [1001]
    assert region["value"] == "FRSBG01"


def test_second_group_of_an_organisation_names_its_own_variable() -> None:
    recording = made({"visibility": "all", "labels": ["a4500"], "labels_variable": "A4500_LABELS"})
    (variable,) = recording.of_type("ActionsOrganizationVariable")
    assert (variable.inputs["variableName"], variable.inputs["value"]) == ("A4500_LABELS", '["a4500"]')
    assert variable.inputs["visibility"] == "all"


@pytest.mark.parametrize("scope", ["organization", "repositories"])
def test_planted_secret_is_secret_in_inputs_and_outputs(scope: str) -> None:
    recording = made({**webhook(), "scope": scope})
    hooks = [item for item in recording.resources if item.type.endswith("Webhook")]
    assert hooks
    for hook in hooks:
        assert "configuration" in hook.secrets or "configuration.secret" in hook.secrets
        assert hook.secret_outputs == {"configuration"}
    others = [dict(item.inputs) for item in recording.resources if item not in hooks]
    assert SECRET not in repr((others, dict(recording.component_outputs)))


def test_everything_uses_the_given_provider_and_the_component_as_parent() -> None:
    recording = made({**webhook(), "labels": ["x"]})
    component = recording.named("gpu").urn
    children = [item for item in recording.resources if item.custom and not item.type.startswith("pulumi:")]
    assert len(children) == 3
    assert all(item.parent == component and "::github::" in item.provider for item in children)
    assert all("::github::" in call.provider for call in recording.invocations)


def test_preview_of_a_new_stack_works_with_values_not_known_yet() -> None:
    recording = made({**webhook(), "labels": ["x"]}, preview=True)
    assert recording.outputs_of("gpu")["groupName"] == "gpu"


def test_all_faults_are_reported_together() -> None:
    found = refusal(
        {
            "group_name": "x" * 65,
            "visibility": "some",
            "repositories": ["acme/inference", "Acme/Inference", "a b"],
            "workflows": ["gpu.yml"],
            "labels": ["gpu,big", "GPU", "gpu", ""],
            "variables": {"GITHUB_X": "1", "1X": "2"},
            "webhook": {"url": "http://ci.test/", "secret": "planted", "events": ["push"]},
            "scope": "team",
            "lables": ["x"],
        }
    )
    expected = [
        f"groupName: got '{'x' * 65}', expected 1 to 64 characters",
        "visibility: got 'some', expected one of all, selected",
        "repositories: got 'acme/inference', expected each repository once",
        "repositories: got 'a b'",
        "workflows: got 'gpu.yml'",
        "labels: got 'gpu,big'",
        "labels: got 'gpu', expected each label once (in any case)",
        "labels: got ''",
        "variables.GITHUB_X:",
        "variables.1X:",
        "webhook.url: got 'http://ci.test/', expected an https address",
        "webhook.secret: got a value (not shown), expected at least 20 random characters",
        "webhook.events: got 'push', expected one of workflow_job, workflow_run",
        "webhook.events: got ['push'], expected workflow_job among them",
        "scope: got 'team'",
        "lables: got 'lables', expected the name of an option; did you mean labels",
    ]
    assert [part for part in expected if part not in found] == []
    assert "has 16 invalid input(s)" in found
    assert "planted" not in found


SINGLE = [
    ({}, "repositories: missing, expected at least one repository"),
    ({"visibility": "private"}, "GitHub's API does not take it for groups"),
    ({"visibility": "all", "repository_ids": [1]}, "repositoryIds: got [1]"),
    ({"visibility": "all", "group_name": "Default"}, "every organisation has a group Default"),
    ({"visibility": "all", "group_name": " x"}, "without outer blanks"),
    ({"visibility": "all", "scope": "repositories"}, "at least one repository for scope repositories"),
    ({"visibility": "all", "labels": [f"l{i}" for i in range(101)]}, "labels: got '101 labels'"),
    ({"visibility": "all", "variables": {"X": "é" * 25_000}}, "50,000 bytes', expected at most 49,152 bytes"),
    ({"visibility": "all", "variables": {"X": "1", "x": "2"}}, "each name once (in any case)"),
    ({"visibility": "all", "labels": ["x"], "labels_variable": "GITHUB_X"}, "labelsVariable: got 'GITHUB_X'"),
    ({"visibility": "all", "webhook": {"url": "https://x.test"}}, "webhook.secret: missing"),
    ({"visibility": "all", "webhook": {"url": "ci.test", "secret": SECRET}}, "webhook.url: got 'ci.test'"),
    (
        {"visibility": "all", "webhook": {"url": "https://u:planted@x.test", "secret": SECRET}},
        "webhook.url: got a value (not shown)",
    ),
    (
        {"visibility": "all", "labels": ["x"], "variables": {"SHADOW_GPU_LABELS": "[]"}},
        "variables.SHADOW_GPU_LABELS: got 'a second value'",
    ),
]


@pytest.mark.parametrize(("args", "message"), SINGLE)
def test_fault_is_named_with_its_remedy(args: dict[str, Any], message: str) -> None:
    found = refusal(args)
    assert message in found
    assert "1 invalid input" in found
    assert "planted" not in found


def test_plain_http_is_taken_on_this_machine_only() -> None:
    recording = made(webhook(url="http://127.0.0.1:8931/github"))
    assert recording.outputs_of("gpu")["webhookUrl"] == "http://127.0.0.1:8931/github"


LATE: list[tuple[Callable[[], Mapping[str, Any]], str]] = [
    (lambda: {"secret": pulumi.Output.secret("planted")}, "webhook.secret: got a value (not shown)"),
    (lambda: {"url": pulumi.Output.from_input("http://ci.test")}, "webhook.url: got 'http://ci.test'"),
]


@pytest.mark.parametrize(("late", "message"), LATE)
@pytest.mark.usefixtures("swallowed_failures")
def test_value_known_late_is_checked_late(late: Callable[[], Mapping[str, Any]], message: str) -> None:
    with pytest.raises(pulumi.InputPropertiesError) as caught:
        made(webhook(**late()))
    assert message in str(caught.value)
    assert "planted" not in str(caught.value)


@pytest.mark.usefixtures("swallowed_failures")
def test_group_name_known_late_is_checked_late() -> None:
    with pytest.raises(pulumi.InputPropertiesError, match="expected 1 to 64 characters"):
        made({"visibility": "all", "group_name": pulumi.Output.from_input("x" * 65)})
