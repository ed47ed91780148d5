"""What the stack declares for an autoscaler of both forges: configuration, secrets, hooks and machines."""

import base64
import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from pulumi.runtime import set_all_config

import runners
import settings
from autoscaler_side import Parts, autoscaler
from shadow_gpu_runners.testing import Invocation, Recording, Registration, record

PREFIX = "/etc/shadow-runner/controller"
POOL = {"labels": ["shadow-gpu"], "flavors": ["edge-c4m16-gpu-2000-1"], "max": 2}
VALUES: dict[str, Any] = {
    "cloud": "ci",
    "region": "LOCAL01",
    "network": {"externalNetwork": "ext-net"},
    "image": {"name": "ubuntu"},
    "pools": [],
    "github": {"owner": "acme", "repositories": ["inference"], "baseUrl": "https://git.example.com/api/v3/"},
    "gitlab": {"project": "acme/inference", "url": "https://gitlab.example.com/"},
    "githubToken": "ghp_planted1",
    "gitlabToken": "glpat-planted2",
    "webhookSecret": "planted3",
    "gitlabWebhookToken": "planted4",
    "autoscalerCallbackKey": "planted5",
    "autoscaler": {
        "url": "https://ci.example.com/",
        "flavor": "edge-c2m4",
        "wheel": f"https://example.com/x.whl#sha256={'0' * 64}",
        "pools": [
            {**POOL, "name": "hub", "forge": "github"},
            {**POOL, "name": "lab", "forge": "gitlab", "market": "on-demand", "localDisk": True},
        ],
        "options": {"max_vms": 3},
    },
}
AUTH = {
    "auth_url": "https://keystone.example.com/v3",
    "application_credential_id": "1",
    "application_credential_secret": "planted6",
}
CLOUDS = {"clouds": {"ci": {"auth_type": "v3applicationcredential", "auth": AUTH}}}


def answer(call: Invocation) -> Mapping[str, Any]:
    name = call.args.get("name")
    return {"id": f"id-of-{name}" if name else "7", "name": name or "one"}


def computed(resource: Registration) -> Mapping[str, Any]:
    if resource.type.endswith(":UserRunner"):
        return {"id": "42", "token": "glrt-planted7"}
    return {"allFixedIps": ["10.20.0.7"]} if resource.type.endswith(":Port") else {}


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (*settings._SECRET_KEYS.values(), "SHADOW_AUTOSCALER_WHEEL", "SHADOW_AUTOSCALER_INDEX"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "clouds.yaml").write_text(yaml.safe_dump(CLOUDS))
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(tmp_path / "clouds.yaml"))


def declared(**section: Any) -> Recording:
    values = {**VALUES, "autoscaler": {**VALUES["autoscaler"], **section}}
    texts = {k: v if isinstance(v, str) else json.dumps(v) for k, v in values.items()}
    keys = {f"{settings.NAMESPACE}:{key}": text for key, text in texts.items()}
    set_all_config(keys, [key for key in keys if key.rpartition(":")[2] in settings._SECRET_KEYS])

    def program() -> None:
        known, secrets = settings.load(pulumi.Config(settings.NAMESPACE))
        assert known.autoscaler
        autoscaler(Parts.of(known, known.autoscaler, secrets, runners.base(known)))

    return record(program, answer=answer, outputs=computed)


def placed(recording: Recording) -> dict[str, str]:
    document = yaml.safe_load(recording.named("autoscaler-server").inputs["userData"])
    return {each["path"].removeprefix(PREFIX): text(each) for each in document["write_files"]}


def text(file: Mapping[str, str]) -> str:
    if "encoding" not in file:
        return file["content"]
    return gzip.decompress(base64.b64decode(file["content"])).decode()


def test_the_configuration_has_both_forges_and_every_secret_by_its_name() -> None:
    files = placed(declared())
    config = yaml.safe_load(files["/config.yaml"])
    assert config["github"]["base_url"] == "https://git.example.com/api/v3"
    assert config["github"]["repositories"] == ["inference"]
    assert config["gitlab"]["runner_tokens"] == {"lab": "gitlab-runner-lab"}
    assert config["max_vms"] == 3
    assert {name.removeprefix("/secrets/"): text for name, text in files.items() if "/secrets/" in name} == {
        "callback-key": "planted5",
        "github-token": "ghp_planted1",
        "github-webhook-secret": "planted3",
        "gitlab-token": "glpat-planted2",
        "gitlab-webhook-token": "planted4",
        "gitlab-runner-lab": "glrt-planted7",
    }
    assert "planted" not in files["/config.yaml"]
    assert yaml.safe_load(files["/clouds.yaml"])["clouds"].keys() == {"controller"}


def test_each_pool_has_its_ladder_its_volume_and_its_template() -> None:
    files = placed(declared())
    hub, lab = yaml.safe_load(files["/config.yaml"])["pools"]
    assert [(rung["flavor"], rung["market"]) for rung in hub["ladder"]] == [
        ("edge-preemptible-c4m16-gpu-2000-1", "spot"),
        ("edge-c4m16-gpu-2000-1", "on-demand"),
    ]
    assert [rung["market"] for rung in lab["ladder"]] == ["on-demand"]
    assert hub["volume"]["type"] == "Wood"
    assert "volume" not in lab
    templates = json.loads(files["/templates.json"])
    assert list(templates["pools"]) == ["hub", "lab"]
    lab = "".join(templates["parts"][number] for number in templates["pools"]["lab"])
    assert "glrt-planted7" not in lab
    assert "@TOKEN@" in lab


def test_gitlabs_jobs_are_announced_to_the_controller() -> None:
    hook = declared().named("autoscaler-hook")
    assert hook.inputs["url"] == "https://ci.example.com/webhook/gitlab"
    assert "token" in hook.secrets


@pytest.mark.parametrize(("image", "boots"), [("", "id-of-ubuntu"), ("noble", "id-of-noble")])
def test_the_controller_boots_from_its_own_image_or_the_stacks(image: str, boots: str) -> None:
    (boot, _) = declared(image=image).named("autoscaler-server").inputs["blockDevices"]
    assert boot["uuid"] == boots
