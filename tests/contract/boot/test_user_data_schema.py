"""User-data passes the real `cloud-init schema`, whatever the settings."""

import dataclasses

import pytest

from localcloud.guests import schema
from shadow_gpu_runners import boot_files
from shadow_gpu_runners.boot_files import BootSettings
from shadow_gpu_runners.cloud_init import BootFile, assemble
from shadow_gpu_runners.config_toml import RunnerConfig, render

SETTINGS = BootSettings(gpu_image="nvidia/cuda:12.1.0-base-ubuntu22.04")
EVERYTHING = dataclasses.replace(
    SETTINGS,
    gpu_count=8,
    registry_mirrors=("https://mirror.test",),
    https_proxy="http://ci:p%40ss@proxy.test:3128",
    no_proxy="localhost,.test",
    docker={"data-root": "/mnt/docker"},
)


@pytest.mark.parametrize("settings", [SETTINGS, EVERYTHING], ids=["defaults", "everything"])
@pytest.mark.parametrize("token", ["glrt-x", "quotes \" ' and \\ and ünïcode: #"], ids=["usual", "strange"])
def test_user_data_is_valid(settings: BootSettings, token: str) -> None:
    config = render(RunnerConfig(url="https://gitlab.com/", token=token))
    assert schema.validate(boot_files.user_data(config, settings)) == []


def test_compressed_files_are_valid() -> None:
    large = BootFile("/opt/large", "the same line\n" * 8000, "0755")
    assert schema.validate(assemble([large], [["bash", "/opt/large"]])) == []


def test_the_check_finds_faults() -> None:
    wrong = (
        assemble([BootFile("/x", "", "0600")], [["true"]])
        .replace("runcmd:", "runcmds:")
        .replace("path:", "pth:")
    )
    assert schema.validate(wrong) != []
