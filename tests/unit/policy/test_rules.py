"""Each rule on what it must refuse, what it must let pass, and what it cannot see."""

import base64
import gzip
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from policy_model import SECRET, UNKNOWN, Finding, Resource, visible
from rules import RULES, STACK_RULES, check

RULE = "openstack:networking/secGroupRule:SecGroupRule"
INSTANCE = "openstack:compute/instance:Instance"
PORT = "openstack:networking/port:Port"
MARK = {"shadow-gpu-runners.deployment": "acme.dev"}
GOOD = {
    "flavorName": "edge-preemptible-c4m16-gpu-2000-1",
    "metadata": MARK,
    "blockDevices": [
        {"destinationType": "volume", "sourceType": "image", "deleteOnTermination": True, "volumeSize": 60}
    ],
}


def _resource(kind: str, props: Mapping[str, Any], name: str = "thing") -> Resource:
    return Resource(f"urn:pulumi:dev::acme::{kind}::{name}", kind, props)


def _found(kind: str, props: Mapping[str, Any], config: Mapping[str, Any] | None = None) -> list[Finding]:
    return check([_resource(kind, props)], config or {})


def test_a_name_may_hold_the_separator() -> None:
    assert _resource(INSTANCE, {}, "team::ci-01").name == "team::ci-01"


def _rules(findings: Sequence[Finding], *, checked: bool = True) -> list[str]:
    return [finding.rule for finding in findings if finding.checked is checked]


def _ingress(**props: Any) -> dict[str, Any]:
    return {"direction": "ingress", "protocol": "tcp", "portRangeMin": 22.0, "portRangeMax": 22.0, **props}


@pytest.mark.parametrize(
    "prefix", ["0.0.0.0/0", "::/0", "0.0.0.0/1", "128.0.0.0/1", "2000::/3", "nonsense", None]
)
def test_open_ingress_is_refused(prefix: str | None) -> None:
    (finding,) = _found(RULE, _ingress(remoteIpPrefix=prefix))
    assert finding.rule == "no-open-ingress"
    assert finding.level == "mandatory"


@pytest.mark.parametrize(
    "props",
    [
        {"remoteIpPrefix": "203.0.113.7/32"},
        {"remoteIpPrefix": "10.0.0.0/8"},
        {"remoteIpPrefix": "2001:db8::/32"},
        {"remoteGroupId": "group"},
        {"remoteGroupId": UNKNOWN},
        {"remoteIpPrefix": "0.0.0.0/0", "direction": "egress"},
    ],
)
def test_narrow_ingress_and_all_egress_pass(props: dict[str, Any]) -> None:
    assert not _found(RULE, _ingress(**props))


def test_ssh_is_named_and_port_ranges_that_hide_it_too() -> None:
    assert "SSH" in _found(RULE, _ingress(remoteIpPrefix="0.0.0.0/0"))[0].message
    wide = _ingress(remoteIpPrefix="0.0.0.0/0", portRangeMin=1.0, portRangeMax=1024.0)
    assert "ports 1 to 1024" in _found(RULE, wide)[0].message
    every = {"direction": "ingress", "remoteIpPrefix": "::/0"}
    assert "every protocol" in _found(RULE, every)[0].message


def test_an_unknown_prefix_is_said_not_passed() -> None:
    (finding,) = _found(RULE, _ingress(remoteIpPrefix=UNKNOWN))
    assert not finding.checked
    assert "only known after" in finding.message


def test_allow_excepts_by_name() -> None:
    config = {"no-open-ingress": {"allow": ["th*"]}}
    assert not _found(RULE, _ingress(remoteIpPrefix="0.0.0.0/0"), config)


TOKENS = {
    "glrt": "glrt-" + "x" * 20,
    "glpat": "token: glpat-" + "x" * 20,
    "ghp": "ghp_" + "x" * 36,
    "ghs": "export T=ghs_" + "x" * 36,
    "key": "-----BEGIN OPENSSH PRIVATE KEY-----",
    "rsa": "-----BEGIN RSA PRIVATE KEY-----",
    "password": "users:\n  - name: x\n    plain_text_passwd: hunter2",
    "chpasswd": "chpasswd:\n  list: [a]",
    "openrc": "export OS_PASSWORD=hunter2",
    "aws": "AKIA" + "A" * 16,
}


@pytest.mark.parametrize("text", TOKENS.values(), ids=TOKENS)
@pytest.mark.parametrize("wrap", ["plain", "base64", "gzip", "folded"])
def test_credentials_in_user_data_are_found_in_every_wrapping(text: str, wrap: str) -> None:
    raw = f"#cloud-config\nruncmd: [echo]\n{text}\n"
    coded = base64.b64encode(gzip.compress(raw.encode()) if wrap == "gzip" else raw.encode()).decode()
    if wrap == "folded":
        coded = "\n      ".join(coded[i : i + 60] for i in range(0, len(coded), 60))
    data = raw if wrap == "plain" else f"write_files:\n  - encoding: b64\n    content: {coded}\n"
    assert _rules(_found(INSTANCE, {**GOOD, "userData": data})) == ["no-secret-in-user-data"]


@pytest.mark.parametrize(
    "text",
    [
        "#cloud-config\npackages: [docker.io]",
        "passwd --lock root",
        "echo $OS_PASSWORD",
        "ssh_pwauth: false",
        "token: ''",
    ],
)
def test_harmless_user_data_passes(text: str) -> None:
    assert not _found(INSTANCE, {**GOOD, "userData": text})


def test_the_message_never_shows_the_credential() -> None:
    (finding,) = _found(INSTANCE, {**GOOD, "userData": TOKENS["glrt"]})
    assert TOKENS["glrt"] not in finding.message
    assert "GitLab runner token" in finding.message


@pytest.mark.parametrize("value", [UNKNOWN, SECRET])
def test_user_data_that_cannot_be_seen_is_said(value: object) -> None:
    assert _rules(_found(INSTANCE, {**GOOD, "userData": value}), checked=False) == ["no-secret-in-user-data"]


def test_on_demand_gpus_are_noted_but_do_not_block() -> None:
    (finding,) = _found(INSTANCE, {**GOOD, "flavorName": "edge-c4m16-gpu-2000-1"})
    assert (finding.rule, finding.level) == ("spot-for-ci-pools", "advisory")
    assert not _found(INSTANCE, {**GOOD, "flavorName": "micro-c1m2"})
    config = {"spot-for-ci-pools": {"spotFlavor": "^edge-"}}
    assert not _found(INSTANCE, {**GOOD, "flavorName": "edge-c4m16-gpu-2000-1"}, config)


@pytest.mark.parametrize("kind", [INSTANCE, "openstack:blockstorage/volume:Volume"])
@pytest.mark.parametrize("metadata", [None, {}, {"other": "x"}])
def test_metadata_without_the_mark_is_refused(kind: str, metadata: object) -> None:
    props = {**GOOD, "metadata": metadata} if kind == INSTANCE else {"metadata": metadata}
    assert _rules(_found(kind, props)) == ["ownership-marks"]


@pytest.mark.parametrize("kind", ["Network", "Subnet", "Router", "Port", "SecGroup", "FloatingIp"])
def test_tags_without_the_mark_are_refused(kind: str) -> None:
    token = f"openstack:networking/{kind[0].lower()}{kind[1:]}:{kind}"
    assert _rules(_found(token, {"tags": ["a"]})) == ["ownership-marks"]
    assert not _found(token, {"tags": ["deployment=acme.dev"]})
    assert not _rules(_found(token, {"tags": [UNKNOWN]}))


@pytest.mark.parametrize(("deletes", "refused"), [(False, True), (None, True), (True, False)])
def test_boot_volume_must_go_with_its_instance(deletes: object, refused: bool) -> None:
    device = {"destinationType": "volume", "sourceType": "image", "deleteOnTermination": deletes}
    expected = ["boot-volume-goes-with-its-instance"] if refused else []
    assert _rules(_found(INSTANCE, {**GOOD, "blockDevices": [device]})) == expected


def test_a_volume_made_elsewhere_may_stay() -> None:
    device = {"destinationType": "volume", "sourceType": "volume", "uuid": "x"}
    assert not _found(INSTANCE, {**GOOD, "blockDevices": [device]})


def test_quota_counts_everything_together() -> None:
    stack = [_resource(INSTANCE, GOOD, f"vm-{n}") for n in range(3)] + [
        _resource(PORT, {"tags": ["deployment=acme.dev"]}, f"port-{n}") for n in range(3)
    ]
    limits = {"instances": 2, "cores": 12, "ram MiB": 40960, "volume GiB": 179, "ports": 3}
    findings = check(stack, {"quota-fits": {"limits": limits}})
    assert [f.message.split(" are")[0] for f in findings] == [
        "3 instances",
        "49152 ram MiB",
        "180 volume GiB",
    ]
    assert not check(stack, {})


def test_a_flavor_that_does_not_tell_its_size_is_said() -> None:
    config = {"quota-fits": {"limits": {"cores": 100}}}
    (finding,) = _found(INSTANCE, {**GOOD, "flavorName": "custom"}, config)
    assert not finding.checked


@pytest.mark.parametrize("rule", [*RULES, *STACK_RULES], ids=lambda rule: rule.name)
def test_levels_can_be_set_for_one_or_all(rule: Any) -> None:
    bad = [
        _resource(RULE, _ingress(remoteIpPrefix="::/0")),
        _resource(
            INSTANCE,
            {
                "userData": TOKENS["key"],
                "flavorName": "a-gpu-1",
                "blockDevices": [{"destinationType": "volume"}],
            },
        ),
    ]
    base = {"quota-fits": {"limits": {"instances": 0}, "enforcementLevel": "advisory"}}
    assert rule.name in _rules(check(bad, base))
    assert rule.name not in _rules(check(bad, {**base, rule.name: "disabled"}))
    assert not check(bad, {"all": "disabled"})


def test_the_engines_signs_for_unknown_and_secret_are_understood() -> None:
    shown = visible(
        {
            "__defaults": [],
            "a": "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
            "b": ["[secret]"],
            "c": {"4dabf18193072939515e22adb298388d": "x", "ciphertext": "[secret]"},
            "d": 1.0,
        }
    )
    assert shown == {"a": UNKNOWN, "b": [SECRET], "c": SECRET, "d": 1.0}
