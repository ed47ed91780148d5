"""The controller's component: what it declares, what it hides, and every fault of its inputs at once."""

import json
from typing import Any, cast

import pulumi
import pytest
import yaml
from unit.gpu_runners.helpers import run

from shadow_gpu_runners import Autoscaler, AutoscalerArgs
from shadow_gpu_runners.testing import Recording, Registration

SECRETS = {"callback-key": "k" * 40, "gh-hook": "hook-planted-11", "gh-token": "ghp_planted22"}
CONFIG: dict[str, Any] = {
    "github": {"owner": "acme", "webhook_secret": "gh-hook", "token": "gh-token"},
    "openstack": {"cloud": "ci", "image": "ubuntu", "network_id": "net-1"},
    "pools": [{"name": "a4500", "forge": "github", "labels": ["shadow-gpu"], "max": 2, "ladder": []}],
}
WHEEL = f"https://wheels.example.com/shadow_autoscaler-0.1.0-py3-none-any.whl#sha256={'ab' * 32}"


def arguments(**changes: Any) -> AutoscalerArgs:
    args: dict[str, Any] = {
        "url": "https://ci.example.com",
        "config": CONFIG,
        "user_data": {"a4500": "#cloud-config\n# @SHADOW_VM@\n"},
        "secrets": SECRETS,
        "clouds_yaml": "clouds: {ci: {auth: {application_credential_secret: planted-33}}}",
        "wheel": WHEEL,
        "flavor": "edge-c4m16-gpu-2000-1",
        "image_id": "image-1",
        "network_id": "net-1",
    }
    return cast("AutoscalerArgs", {**args, **changes})


def made(**changes: Any) -> Recording:
    return run(lambda opts: Autoscaler("autoscaler", arguments(**changes), opts))


def only(recording: Recording, kind: str) -> Registration:
    found = [each for each in recording.resources if each.type.endswith(f":{kind}")]
    assert len(found) == 1, [each.type for each in recording.resources]
    return found[0]


def files(recording: Recording) -> dict[str, str]:
    document = yaml.safe_load(only(recording, "Instance").inputs["userData"])
    return {each["path"]: each["content"] for each in document["write_files"]}


def test_the_state_is_on_a_volume_that_outlives_the_machine() -> None:
    server = only(made(), "Instance")
    boot, data = server.inputs["blockDevices"]
    assert (boot["bootIndex"], boot["deleteOnTermination"]) == (0, True)
    assert (data["bootIndex"], data["deleteOnTermination"]) == (-1, False)
    assert server.delete_before_replace
    assert server.inputs["stopBeforeDestroy"] is True


def test_the_machine_never_carries_the_mark_of_what_the_autoscaler_makes() -> None:
    for each in made().resources:
        marks = str(each.inputs.get("metadata", "")) + str(each.inputs.get("tags", ""))
        assert "component': 'autoscaler'" not in marks
        assert "component=autoscaler'" not in marks


def test_only_https_and_the_acme_challenge_come_in() -> None:
    rules = [each for each in made().resources if each.type.endswith(":SecGroupRule")]
    ingress = {each.inputs["portRangeMin"] for each in rules if each.inputs["direction"] == "ingress"}
    assert ingress == {443, 80}
    narrow = made(
        allow_from=["192.0.2.0/24"], tls={"mode": "certificate", "certificate": "c", "private_key": "k"}
    )
    rules = [each for each in narrow.resources if each.inputs.get("direction") == "ingress"]
    assert [(each.inputs["portRangeMin"], each.inputs["remoteIpPrefix"]) for each in rules] == [
        (443, "192.0.2.0/24")
    ]


def test_the_configuration_is_complete_and_refers_to_secrets_by_name() -> None:
    placed = files(made())
    config = yaml.safe_load(placed["/etc/shadow-runner/controller/config.yaml"])
    assert config["callback_url"] == "https://ci.example.com"
    assert config["pools"][0]["user_data_file"] == "user-data/a4500.yaml"
    assert config["store"]["path"] == "/var/lib/shadow-autoscaler/state.sqlite"
    for name, value in SECRETS.items():
        assert placed[f"/etc/shadow-runner/controller/secrets/{name}"] == value
        assert value not in placed["/etc/shadow-runner/controller/config.yaml"]
    templates = json.loads(placed["/etc/shadow-runner/controller/templates.json"])
    assert "".join(templates["parts"]).startswith("#cloud-config")
    assert list(templates["pools"]) == ["a4500"]


def test_user_data_is_secret_also_where_the_secrets_were_not() -> None:
    assert "userData" in only(made(), "Instance").secrets


def test_the_wheel_is_fetched_by_its_hash() -> None:
    env = files(made())["/etc/shadow-runner/serve.env"]
    assert f"SHADOW_WHEEL_SHA256={'ab' * 32}" in env
    assert "SHADOW_WHEEL_URL=https://wheels.example.com/shadow_autoscaler-0.1.0-py3-none-any.whl\n" in env


def test_caddy_stands_in_front_with_the_own_certificate() -> None:
    tls = {"mode": "certificate", "certificate": "CHAIN", "private_key": "KEY"}
    placed = files(made(tls=tls))
    caddy = placed["/etc/shadow-runner/Caddyfile"]
    assert "ci.example.com {" in caddy
    assert "tls /etc/caddy/certificate.pem /etc/caddy/key.pem" in caddy
    assert "reverse_proxy 127.0.0.1:8080" in caddy
    assert placed["/etc/shadow-runner/tls/key.pem"] == "KEY"


def test_without_tls_only_loopback_is_served() -> None:
    placed = files(made(url="http://127.0.0.1:8940", tls={"mode": "none"}))
    assert "/etc/shadow-runner/Caddyfile" not in placed


def test_all_faults_are_told_together() -> None:
    wrong = {
        "url": "http://ci.example.com/path",
        "wheel": "https://x/y.tar.gz",
        "user_data": {"other": "x"},
        "secrets": {},
        "config": {**CONFIG, "deployment": "x"},
        "ssh_from": ["0.0.0.0/0"],
    }
    with pytest.raises(pulumi.RunError) as caught:
        made(**wrong)
    for part in (
        "url",
        "wheel",
        "userData.other",
        "userData.a4500",
        "secrets.gh-hook",
        "secrets.callback-key",
    ):
        assert part in str(caught.value), part
    for part in ("config.deployment", "sshFrom[0]", "#sha256="):
        assert part in str(caught.value), part


@pytest.mark.parametrize("odd", [5, "odd", True, ["odd"], {"port": "8080"}, {"port": 0}, None], ids=repr)
@pytest.mark.parametrize("key", ["pools", "listen"])
def test_a_section_of_another_kind_is_named(key: str, odd: Any) -> None:
    """A program without a type checker may give anything."""
    with pytest.raises(pulumi.RunError, match=rf"config\.{key}"):
        made(config={**CONFIG, key: odd})


@pytest.mark.parametrize(
    ("url", "mode"),
    [
        ("https://ci.example.com", "none"),
        ("http://ci.example.com", "acme"),
        ("http://ci.example.com", "none"),
    ],
)
def test_an_address_and_its_tls_must_agree(url: str, mode: str) -> None:
    with pytest.raises(pulumi.RunError, match=r"tls\.mode|url"):
        made(url=url, tls={"mode": mode})
