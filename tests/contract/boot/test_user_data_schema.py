"""User-data passes the real `cloud-init schema`, whatever the settings."""

import dataclasses

import pytest

from localcloud.guests import schema
from shadow_gpu_runners import boot_files, controller_boot, job_boot
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


@pytest.mark.parametrize("kind", ["github", "gitlab"])
def test_user_data_of_machines_of_one_job_is_valid(kind: job_boot.Kind) -> None:
    config = render(RunnerConfig(url="https://gitlab.com/", token=job_boot.TOKEN_PLACEHOLDER))
    text = job_boot.user_data(job_boot.JobSettings(kind, config_toml=config, boot=EVERYTHING))
    assert schema.validate(text) == []


@pytest.mark.parametrize("tls", ["acme", "certificate", "none"])
def test_user_data_of_the_controller_is_valid(tls: controller_boot.Tls) -> None:
    settings = controller_boot.ControllerSettings(
        url="https://ci.example.com",
        config={"pools": [{"name": "a"}]},
        templates={"a": "#cloud-config\n"},
        secrets={"callback-key": "quotes \" ' and \\"},
        clouds_yaml="clouds: {}\n",
        wheel_url="https://example.com/x.whl",
        wheel_sha256="0" * 64,
        deployment="p.s",
        tls=tls,
        certificate="CHAIN\n",
        private_key="KEY\n",
        boot=EVERYTHING,
    )
    assert schema.validate(controller_boot.user_data(settings)) == []


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
