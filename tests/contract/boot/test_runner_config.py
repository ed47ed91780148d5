"""config.toml is read by GitLab Runner's own parser as we mean it."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from localcloud.paths import repository
from shadow_gpu_runners.config_toml import (
    DockerOptions,
    GlobalOptions,
    RunnerConfig,
    RunnerOptions,
    S3Options,
    ServiceOptions,
    kinds,
    render,
)
from shadow_gpu_runners.config_toml.kinds import Kind
from shadow_gpu_runners.config_toml.render import toml_name

pytestmark = pytest.mark.engine

SAMPLES: dict[Kind, Any] = {
    Kind.TEXT: "text",
    Kind.BOOL: True,
    Kind.INT: 7,
    Kind.TEXTS: ["one", "two"],
    Kind.TEXT_TABLE: {"key.with.dots": "value"},
    Kind.BOOL_TABLE: {"FF_NETWORK_PER_BUILD": True},
    Kind.LIST_TABLE: {"image:*": ["/dev/fuse"]},
}


@pytest.fixture(scope="session")
def program() -> Path:
    """Return the program around GitLab Runner's parser."""
    command = [repository() / "scripts" / "engine", "--with", "runner", "--bin"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Path(done.stdout.strip()) / "runnerconfig"


@pytest.fixture
def parsed(program: Path, tmp_path: Path) -> Callable[[str], dict[str, Any]]:
    """Return what GitLab Runner understands of a text."""

    def parse(text: str) -> dict[str, Any]:
        path = tmp_path / "config.toml"
        path.write_text(text)
        ran = subprocess.run([program, path], capture_output=True, text=True, check=True)
        found: dict[str, Any] = json.loads(ran.stdout)
        return found

    return parse


def made(**parts: Any) -> str:
    return render(RunnerConfig(url="https://gitlab.com/", token="glrt-planted", name="gpu-01", **parts))


def test_article_s_configuration_is_understood(parsed: Callable[[str], dict[str, Any]]) -> None:
    found = parsed(made())
    (runner,) = found["runners"]
    docker = runner["docker"]
    assert found["concurrent"] == 1
    assert (runner["name"], runner["url"], runner["executor"]) == ("gpu-01", "https://gitlab.com/", "docker")
    assert docker["image"] == "nvidia/cuda:12.1.0-base-ubuntu22.04"
    assert docker["gpus"] == "all"
    assert docker["volumes"] == ["/cache"]
    assert (docker["privileged"], docker["disable_cache"]) == (False, False)


@pytest.mark.parametrize("name", sorted(set(kinds.of(DockerOptions)) - {"services"}))
def test_docker_option_is_understood(parsed: Callable[[str], dict[str, Any]], name: str) -> None:
    value = SAMPLES[kinds.of(DockerOptions)[name]]
    assert parsed(made(docker={name: value}))["runners"][0]["docker"][name] == value


def test_services_are_understood(parsed: Callable[[str], dict[str, Any]]) -> None:
    values = {name: SAMPLES[kind] for name, kind in kinds.of(ServiceOptions).items()}
    assert parsed(made(docker={"services": [values]}))["runners"][0]["docker"]["services"] == [values]


@pytest.mark.parametrize("name", sorted(set(kinds.of(RunnerOptions)) - {"custom_build_dir", "artifact"}))
def test_runner_option_is_understood(parsed: Callable[[str], dict[str, Any]], name: str) -> None:
    durations = {"unhealthy_interval", "prepare_timeout", "get_sources_timeout"}
    value = "1m30s" if name in durations else SAMPLES[kinds.of(RunnerOptions)[name]]
    found = parsed(made(options={name: value}))["runners"][0]
    assert found[toml_name(name, RunnerOptions)] == value


@pytest.mark.parametrize("name", sorted(kinds.of(GlobalOptions)))
def test_global_option_is_understood(parsed: Callable[[str], dict[str, Any]], name: str) -> None:
    value = {"connection_max_age": "15m0s"}.get(name, SAMPLES[kinds.of(GlobalOptions)[name]])
    assert parsed(made(process={name: value}))[name] == value


def test_cache_is_understood(parsed: Callable[[str], dict[str, Any]]) -> None:
    s3 = {name: SAMPLES[kind] for name, kind in kinds.of(S3Options).items()}
    found = parsed(made(cache={"type": "s3", "shared": True, "s3": s3}))["runners"][0]["cache"]
    assert (found["Type"], found["Shared"]) == ("s3", True)
    assert found["s3"] == {toml_name(name, S3Options): value for name, value in s3.items()}


def test_list_of_gpus_is_refused_by_gitlab_runner_too(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(made().replace('gpus = "all"', 'gpus = ["all"]'))
    ran = subprocess.run([program, path], capture_output=True, text=True, check=False)
    assert ran.returncode != 0
