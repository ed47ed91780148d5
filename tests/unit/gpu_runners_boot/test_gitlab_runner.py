"""GitLabRunner: what it asks GitLab for, what its machines get, and that its token stays secret."""

import tomllib
from collections.abc import Callable, Mapping
from typing import Any

import pulumi
import pulumi_gitlab as gitlab
import pytest
import yaml

from shadow_gpu_runners.gitlab_runner import GitLabRunner, GitLabRunnerArgs
from shadow_gpu_runners.testing import UNKNOWN, Invocation, Recording, Registration, record

TOKEN = "glrt-planted-51b2"
PROJECT: GitLabRunnerArgs = {"project_id": 7}


def outputs(registration: Registration) -> Mapping[str, Any]:
    return {"token": TOKEN, "id": "11"} if registration.type.endswith(":UserRunner") else {}


def answer(call: Invocation) -> Mapping[str, Any]:
    return {"id": "42", "groupId": 43}


def made(args: GitLabRunnerArgs, *, preview: bool = False) -> Recording:
    def program() -> None:
        provider = gitlab.Provider("gitlab", token="t", base_url="http://127.0.0.1:9/api/v4/")
        GitLabRunner("ci", args, pulumi.ResourceOptions(provider=provider))

    return record(program, outputs=outputs, answer=answer, preview=preview)


def config(recording: Recording) -> dict[str, Any]:
    return tomllib.loads(recording.outputs_of("ci")["configToml"])


def refusal(args: Mapping[str, Any]) -> str:
    with pytest.raises(pulumi.InputPropertiesError) as caught:
        record(lambda: GitLabRunner("ci", args) and None)  # type: ignore[arg-type]
    return str(caught.value)


def test_defaults_ask_for_a_locked_project_runner_with_the_tag_of_the_article() -> None:
    inputs = dict(made(PROJECT).named("ci-runner").inputs)
    assert inputs == {
        "runnerType": "project_type",
        "projectId": 7,
        "tagLists": ["shadow-gpu"],
        "untagged": False,
        "locked": True,
        "accessLevel": "not_protected",
        "maximumTimeout": 3600,
        "paused": False,
        "description": "ci",
        "maintenanceNote": "managed-by=shadow-gpu-runners, deployment=project.stack, component=ci",
    }


SCOPES: list[tuple[GitLabRunnerArgs, dict[str, Any]]] = [
    ({"project": "acme/inference"}, {"runnerType": "project_type", "projectId": 42, "locked": True}),
    ({"group": "acme"}, {"runnerType": "group_type", "groupId": 43}),
    ({"group_id": 9}, {"runnerType": "group_type", "groupId": 9}),
    ({"instance": True}, {"runnerType": "instance_type"}),
]


@pytest.mark.parametrize(("args", "expected"), SCOPES)
def test_scope_is_looked_up_and_registered(args: GitLabRunnerArgs, expected: dict[str, Any]) -> None:
    inputs = made(args).named("ci-runner").inputs
    scope = ("runnerType", "projectId", "groupId", "locked")
    assert {key: inputs[key] for key in scope if key in inputs} == expected


def test_everything_uses_the_given_provider_and_the_component_as_parent() -> None:
    recording = made({"project": "acme/inference"})
    runner, component = recording.named("ci-runner"), recording.named("ci")
    assert runner.parent == component.urn
    assert "::gitlab::" in runner.provider
    assert ["::gitlab::" in call.provider for call in recording.invocations] == [True]


def test_machines_get_the_token_and_the_article_s_options() -> None:
    runner = config(made(PROJECT))["runners"][0]
    assert runner == {
        "name": "@HOSTNAME@",
        "url": "https://gitlab.com/",
        "token": TOKEN,
        "executor": "docker",
        "docker": {
            "image": "nvidia/cuda:12.1.0-base-ubuntu22.04",
            "gpus": "all",
            "privileged": False,
            "disable_cache": False,
            "volumes": ["/cache"],
        },
    }


def test_every_input_reaches_its_place() -> None:
    secret = pulumi.Output.secret("s3-planted")
    recording = made(
        {
            "project_id": 7,
            "url": pulumi.Output.from_input("https://gitlab.test/"),
            "concurrent": 2,
            "limit": 1,
            "environment": ["A=b"],
            "docker": {"pull_policy": ["if-not-present"], "allowed_images": ["acme/*"], "shm_size": 2**30},
            "runner": {"pre_build_script": "nvidia-smi"},
            "process": {"log_level": "warn"},
            "cache": {"type": "s3", "s3": {"server_address": "s3", "bucket_name": "b", "secret_key": secret}},
            "tags": ["a100", "shadow-gpu"],
            "protected": True,
            "untagged": True,
            "locked": False,
            "maintenance_note": "ask the platform team",
            "boot": {"gpu_count": 2, "packages": ["gitlab-runner=19.4.0-1"], "gpu_timeout_s": 30},
        }
    )
    text = config(recording)
    runner = text["runners"][0]
    assert (text["concurrent"], text["log_level"], text["check_interval"]) == (2, "warn", 3)
    assert (runner["url"], runner["limit"], runner["environment"]) == ("https://gitlab.test/", 1, ["A=b"])
    assert runner["docker"]["pull_policy"] == ["if-not-present"]
    assert runner["docker"]["gpus"] == "all"
    assert runner["cache"]["s3"]["SecretKey"] == "s3-planted"
    inputs = recording.named("ci-runner").inputs
    assert inputs["accessLevel"] == "ref_protected"
    assert inputs["maintenanceNote"].startswith("ask the platform team\nmanaged-by=")
    user_data = yaml.safe_load(recording.outputs_of("ci")["userData"])
    files = {entry["path"]: entry["content"] for entry in user_data["write_files"]}
    assert "SHADOW_GPU_COUNT=2\n" in files["/etc/shadow-runner/boot.env"]
    assert "SHADOW_PACKAGES=gitlab-runner=19.4.0-1\n" in files["/etc/shadow-runner/boot.env"]
    assert tomllib.loads(files["/etc/shadow-runner/config.toml"]) == text


def test_gpu_is_checked_in_the_image_that_jobs_get() -> None:
    recording = made({"project_id": 7, "docker": {"image": "acme/torch:2"}})
    assert "SHADOW_GPU_IMAGE=acme/torch:2" in recording.outputs_of("ci")["userData"]


def test_token_configuration_and_user_data_are_secret() -> None:
    recording = made(PROJECT)
    assert recording.secret_outputs[recording.named("ci").urn] == {"token", "configToml", "userData"}
    assert recording.named("ci-runner").secret_outputs == {"token"}


def test_planted_token_is_in_no_plain_input_or_output() -> None:
    recording = made(PROJECT)
    for resource in recording.resources:
        assert TOKEN not in repr(dict(resource.inputs)), resource.name
    component = recording.named("ci").urn
    for key, value in recording.component_outputs[component].items():
        assert TOKEN not in repr(value) or key in recording.secret_outputs[component]


def test_preview_of_a_new_stack_leaves_the_token_unknown() -> None:
    shown = record(
        lambda: GitLabRunner("ci", PROJECT, pulumi.ResourceOptions()) and None, preview=True
    ).outputs_of("ci")
    assert shown["userData"] is UNKNOWN
    assert shown["tags"] == ["shadow-gpu"]


def test_all_faults_are_reported_together() -> None:
    found = refusal(
        {
            "project": "acme inference",
            "group": "acme",
            "tags": ["a,b", "x", "x"],
            "maximum_timeout": 60,
            "maintenance_note": "x" * 1025,
            "url": "gitlab.test",
            "tagz": ["x"],
            "concurrent": 1,
            "process": {"concurrent": 2},
            "environment": ["planted"],
            "docker": {"gpus": ["all"], "volumes": ["/:/host"]},
            "boot": {"packages": ["A B"]},
        }
    )
    expected = [
        "project: got ['project', 'group'], expected exactly one of",
        "project: got 'acme inference'",
        "tags: got 'a,b'",
        "tags: got 'x', expected each tag once",
        "maximumTimeout: got 60, expected 600 to",
        "maintenanceNote: got",
        "url: got 'gitlab.test'",
        "tagz: got 'tagz', expected the name of an option; did you mean tags",
        "process.concurrent:",
        "environment[0]: got a value (not shown)",
        "docker.gpus: got ['all']",
        "docker.volumes: got '/:/host'",
        "boot.packages: got 'A B'",
    ]
    assert [part for part in expected if part not in found] == []
    assert "GitLabRunner 'ci' has 13 invalid input(s)" in found
    assert "planted" not in found


SINGLE = [
    ({}, "exactly one of project"),
    ({"group": "acme", "locked": True}, "locked: got True, expected a project runner"),
    ({"project_id": 7, "tags": []}, "at least one tag, or untagged"),
    ({"project_id": 7, "tags": ["x" * 256]}, "1 to 255 characters"),
    ({"project_id": 7, "tags": [f"t{i}" for i in range(51)]}, "at most 50"),
    ({"project_id": 7, "tags": "shadow-gpu"}, "tags: got 'shadow-gpu', expected a list of strings"),
    ({"project_id": 7, "url": "https://ci:planted@gitlab.test"}, "an address without credentials"),
    ({"project_id": 7, "boot": {"gpu_count": "two"}}, "boot.gpu_count: got 'two', expected a whole number"),
    ({"project_id": 7, "boot": {"repositories": [{"name": "x"}]}}, "boot.repositories[0].uri: missing"),
]


@pytest.mark.parametrize(("args", "message"), SINGLE)
def test_fault_is_named_with_its_remedy(args: dict[str, Any], message: str) -> None:
    found = refusal(args)
    assert message in found
    assert "planted" not in found


def test_untagged_runner_needs_no_tags() -> None:
    assert made({"project_id": 7, "tags": [], "untagged": True}).named("ci-runner").inputs["tagLists"] == []


def noise(length: int) -> str:
    return "".join(f"{(index * 2654435761) % 2**32:08x}" for index in range(length // 8))


def test_user_data_that_cannot_fit_is_refused_before_anything_is_registered() -> None:
    found = refusal({"project_id": 7, "runner": {"pre_build_script": noise(200_000)}})
    assert "bytes after base64, expected at most 65,535" in found
    assert "/etc/shadow-runner/config.toml" in found


LATE: list[tuple[Callable[[], GitLabRunnerArgs], str]] = [
    (lambda: {"project_id": 7, "url": pulumi.Output.from_input("gitlab.test")}, "url: got 'gitlab.test'"),
    (
        lambda: {"project_id": 7, "docker": {"gpus": pulumi.Output.from_input("every")}},
        "docker.gpus: got 'every'",
    ),
    (
        lambda: {"project_id": 7, "environment": [pulumi.Output.secret("planted")]},
        "environment[0]: got a value (not shown)",
    ),
]


@pytest.mark.parametrize(("args", "message"), LATE)
@pytest.mark.usefixtures("swallowed_failures")
def test_value_known_late_is_checked_late(args: Callable[[], GitLabRunnerArgs], message: str) -> None:
    with pytest.raises(pulumi.InputPropertiesError, match=r"(?s).*") as caught:
        record(lambda: GitLabRunner("ci", args()).user_data, outputs=outputs)
    assert message in str(caught.value)
    assert "planted" not in str(caught.value)
