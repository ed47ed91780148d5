"""config.toml: equal to the article's, every option reachable with its type, every fault named at once."""

import tomllib
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import upstream
from hypothesis import given
from hypothesis import strategies as st

from shadow_gpu_runners._validation import InvalidInputsError, Problems
from shadow_gpu_runners.config_toml import (
    UNKNOWN,
    CacheOptions,
    DockerOptions,
    GlobalOptions,
    RunnerConfig,
    RunnerOptions,
    S3Options,
    ServiceOptions,
    check_cache,
    check_docker,
    check_environment,
    check_table,
    kinds,
    render,
)
from shadow_gpu_runners.config_toml.kinds import Kind
from shadow_gpu_runners.config_toml.render import toml_name
from shadow_gpu_runners.config_toml.runner import ArtifactOptions

ARTICLE = """
[[runners]]
  name = "shadow-gpu-runner-01"
  url = "https://gitlab.com/"
  token = "PROJECT_TOKEN"
  executor = "docker"
  [runners.docker]
    image = "nvidia/cuda:12.1.0-base-ubuntu22.04"
    privileged = false
    disable_cache = false
    volumes = ["/cache"]
    gpus = "all"
"""
SAMPLES: Mapping[Kind, Any] = {
    Kind.TEXT: "text",
    Kind.BOOL: True,
    Kind.INT: 7,
    Kind.TEXTS: ["one", "two"],
    Kind.TEXT_TABLE: {"key.with.dots": "value"},
    Kind.BOOL_TABLE: {"FF_NETWORK_PER_BUILD": True},
    Kind.LIST_TABLE: {"image:*": ["/dev/fuse"]},
}


def config(**parts: Any) -> RunnerConfig:
    return RunnerConfig(
        url="https://gitlab.com/", token="PROJECT_TOKEN", name="shadow-gpu-runner-01", **parts
    )


def faults(check: Callable[[Problems], None]) -> str:
    problems = Problems("GitLabRunner 'ci'")
    check(problems)
    with pytest.raises(InvalidInputsError) as caught:
        problems.raise_if_any()
    return str(caught.value)


def test_defaults_equal_the_article_field_by_field() -> None:
    assert tomllib.loads(render(config()))["runners"] == tomllib.loads(ARTICLE)["runners"]


def test_text_is_in_readable_order() -> None:
    assert render(config()) == (
        'concurrent = 1\ncheck_interval = 3\nlog_level = "info"\n\n'
        '[[runners]]\nname = "shadow-gpu-runner-01"\nurl = "https://gitlab.com/"\n'
        'token = "PROJECT_TOKEN"\nexecutor = "docker"\n\n'
        '[runners.docker]\nimage = "nvidia/cuda:12.1.0-base-ubuntu22.04"\ngpus = "all"\n'
        'privileged = false\ndisable_cache = false\nvolumes = ["/cache"]\n'
    )


MODELS = {
    "docker": (DockerOptions, upstream.DOCKER),
    "service": (ServiceOptions, upstream.SERVICE),
    "runner": (RunnerOptions, upstream.RUNNER),
    "process": (GlobalOptions, upstream.PROCESS),
    "cache": (CacheOptions, upstream.CACHE),
    "s3": (S3Options, upstream.S3),
    "artifact": (ArtifactOptions, upstream.ARTIFACT),
}


@pytest.mark.parametrize("part", MODELS)
def test_options_and_types_are_those_of_gitlab_runner(part: str) -> None:
    model, theirs = MODELS[part]
    ours = {toml_name(name, model): kind for name, kind in kinds.of(model).items()}
    assert ours == upstream.table(theirs)


@pytest.mark.parametrize("name", sorted(set(kinds.of(DockerOptions)) - {"services"}))
def test_each_docker_option_comes_out_under_its_name(name: str) -> None:
    value = SAMPLES[kinds.of(DockerOptions)[name]]
    document = tomllib.loads(render(config(docker={name: value})))
    assert document["runners"][0]["docker"][name] == value


def test_tables_in_tables_come_out_as_tables() -> None:
    parts = {
        "docker": {"services": [{"name": "postgres:17", "alias": "db"}, {"name": "redis"}]},
        "options": {"custom_build_dir": {"enabled": True}, "tls_ca_file": "/etc/ssl/ca.pem"},
        "cache": {"type": "s3", "s3": {"server_address": "s3.test", "server_side_encryption_key_id": "k"}},
    }
    runner = tomllib.loads(render(config(**parts)))["runners"][0]
    assert runner["docker"]["services"] == [{"name": "postgres:17", "alias": "db"}, {"name": "redis"}]
    assert runner["custom_build_dir"] == {"enabled": True}
    assert runner["tls-ca-file"] == "/etc/ssl/ca.pem"
    s3 = {"ServerAddress": "s3.test", "ServerSideEncryptionKeyID": "k"}
    assert runner["cache"] == {"Type": "s3", "s3": s3}


def test_numbers_of_other_languages_become_whole() -> None:
    text = render(config(process={"concurrent": 2.0}, docker={"shm_size": 1073741824.0}))
    assert "concurrent = 2\n" in text
    assert "shm_size = 1073741824\n" in text


def test_empty_gpus_leave_the_option_out() -> None:
    assert "gpus" not in render(config(docker={"gpus": ""}))


@given(
    st.dictionaries(st.text(min_size=1), st.text()),
    st.lists(st.text()),
    st.text(),
    st.text(alphabet=st.characters(categories=["L", "N", "P", "Z"])),
)
def test_any_text_survives(labels: dict[str, str], hosts: list[str], script: str, token: str) -> None:
    made = RunnerConfig(
        url="https://gitlab.com/",
        token=token,
        options={"labels": labels, "pre_build_script": script or "x"},
        docker={"extra_hosts": hosts},
    )
    runner = tomllib.loads(render(made))["runners"][0]
    assert runner["token"] == token
    assert runner["labels"] == labels
    assert runner["pre_build_script"] == (script or "x")
    assert runner["docker"]["extra_hosts"] == hosts


WRONG_KINDS = [
    ("gpus", ["all"], 'write "all"'),
    ("gpus", True, "text (a string)"),
    ("privileged", "false", "true or false"),
    ("shm_size", "1g", "a whole number"),
    ("shm_size", 1.5, "a whole number"),
    ("cpu_shares", True, "a whole number"),
    ("volumes", "/cache", "a list of strings"),
    ("volumes", [1], "a list of strings"),
    ("sysctls", ["a=b"], "a table of strings"),
    ("services_devices", {"a": "b"}, "a table of lists of strings"),
    ("services", [{}], "docker.services[0].name: missing"),
    ("services", ["redis"], "a list of tables"),
]


@pytest.mark.parametrize(("name", "value", "message"), WRONG_KINDS)
def test_wrong_type_is_named_with_what_was_expected(name: str, value: Any, message: str) -> None:
    found = faults(lambda problems: check_table({name: value}, DockerOptions, "docker", problems))
    assert f"docker.{name}" in found
    assert message in found


UNKNOWN_NAMES = [
    ("gpu", "gpus"),
    ("pull-policy", "pull_policy"),
    ("Volumes", "volumes"),
    ("previleged", "privileged"),
]


@pytest.mark.parametrize(("name", "near"), UNKNOWN_NAMES)
def test_unknown_option_is_one_error_with_the_near_name(name: str, near: str) -> None:
    found = faults(lambda problems: check_table({name: "all"}, DockerOptions, "docker", problems))
    assert "1 invalid input" in found
    assert f"did you mean {near}" in found


WRONG_VALUES = [
    ("process", GlobalOptions, "concurrent", 0, "at least 1"),
    ("process", GlobalOptions, "log_level", "loud", "one of debug, info"),
    ("process", GlobalOptions, "connection_max_age", "15", "add the unit"),
    ("runner", RunnerOptions, "prepare_timeout", "10 minutes", "a duration such as 90s"),
    ("runner", RunnerOptions, "request_concurrency", 0, "at least 1"),
    ("docker", DockerOptions, "memory", "12 gigabytes", "a size such as 512m"),
]


@pytest.mark.parametrize(("part", "model", "name", "value", "message"), WRONG_VALUES)
def test_wrong_value_is_named(part: str, model: type, name: str, value: Any, message: str) -> None:
    found = faults(lambda problems: check_table({name: value}, model, part, problems))
    assert f"{part}.{name}: got {value!r}" in found
    assert message in found


DOCKER_RULES = [
    ({"gpus": "every"}, "all, a number or device="),
    ({"pull_policy": ["allways"]}, "always, if-not-present or never"),
    ({"pull_policy": ["always"], "allowed_pull_policies": ["never"]}, "one of allowed_pull_policies"),
    ({"network_mode": "host"}, "metadata service"),
    ({"pid_mode": "host"}, "process namespace"),
    *(
        ({"volumes": [f"{source}:/x"]}, "cannot reach the runner's token")
        for source in (
            "/",
            "/etc",
            "/etc/gitlab-runner",
            "/etc/gitlab-runner/config.toml",
            "/var/../etc/gitlab-runner",
            "/var",
            "/var/lib/cloud/instances",
            "/run/docker.sock",
            "/var/run/docker.sock",
            "/proc",
        )
    ),
]


@pytest.mark.parametrize(("options", "message"), DOCKER_RULES)
def test_option_that_breaks_or_opens_the_machine_is_refused(options: dict[str, Any], message: str) -> None:
    assert message in faults(lambda problems: check_docker(options, problems))


@pytest.mark.parametrize("volume", ["/cache", "data:/data", "/mnt/datasets:/datasets:ro", "/etcetera:/x"])
def test_harmless_volume_is_taken(volume: str) -> None:
    problems = Problems("x")
    check_docker({"volumes": [volume]}, problems)
    assert problems.found == []


def test_host_access_can_be_allowed_on_purpose() -> None:
    problems = Problems("x")
    options = {"volumes": ["/var/run/docker.sock:/var/run/docker.sock"], "network_mode": "host"}
    check_docker(options, problems, allow_host_access=True)
    assert problems.found == []


def test_values_that_are_not_known_yet_are_left_for_later() -> None:
    problems = Problems("x")
    options = {"image": UNKNOWN, "volumes": ["/cache", UNKNOWN], "sysctls": {"a": UNKNOWN}, "gpus": UNKNOWN}
    check_table(options, DockerOptions, "docker", problems)
    check_docker(options, problems)
    assert problems.found == []


def test_cache_without_bucket_is_refused() -> None:
    found = faults(lambda problems: check_cache({"type": "gcs", "s3": {"server_address": "s3"}}, problems))
    assert "cache.type: got 'gcs', expected s3" in found
    assert "cache.s3.bucket_name: missing" in found


def test_secrets_are_not_shown_in_messages() -> None:
    def check(problems: Problems) -> None:
        check_table({"s3": {"secret_key": ["planted-1"]}}, CacheOptions, "cache", problems)
        check_table({"environment": "planted-2"}, RunnerOptions, "runner", problems)
        check_environment(["planted-3"], problems, "environment")

    found = faults(check)
    assert "planted" not in found
    assert "cache.s3.secret_key: got a value (not shown)" in found
    assert "environment[0]: got a value (not shown), expected KEY=value" in found
