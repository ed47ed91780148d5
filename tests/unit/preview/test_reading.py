"""The engine's output in all the forms it comes in."""

import json
from collections.abc import Callable

import pytest

from preview import digest
from preview.digest import Preview
from preview.errors import InputError
from preview.nouns import counted, noun, property_words
from preview.resources import changes

Load = Callable[[str], Preview]


def _told(preview: Preview) -> list[tuple[str, str]]:
    return sorted((change.action, change.name) for change in changes(preview))


def test_plain_form(sample: Load) -> None:
    preview = sample("replace-and-scale-down")
    assert preview.stack == "acme/dev"
    assert _told(preview) == [
        ("create", "ssh"),
        ("delete", "pool-02"),
        ("delete", "pool-02-port"),
        ("replace", "pool-01"),
    ]
    assert not preview.failed


def test_streaming_form_tells_the_same_kind_of_changes(sample: Load) -> None:
    preview = sample("streaming-scale-down")
    assert preview.stack == "acme/dev"
    assert _told(preview) == [("delete", "pool-02"), ("delete", "pool-02-port")]
    assert not preview.policies_ran


def test_streaming_form_carries_policy_results(sample: Load) -> None:
    preview = sample("streaming-policies")
    assert preview.policies_ran
    assert [(p.policy, p.level) for p in preview.policies] == [
        ("ownership-marks", "mandatory"),
        ("ownership-marks", "mandatory"),
        ("no-open-ingress", "mandatory"),
    ]
    assert "Everything that can" not in preview.policies[0].message
    assert _told(preview) == [("create", "ssh"), ("replace", "pool-01"), ("replace", "pool-02")]


def test_the_reason_of_a_replacement_is_known(sample: Load) -> None:
    (change,) = (c for c in changes(sample("spot-to-on-demand")) if c.name == "pool-01")
    (reason,) = change.reasons
    assert str(reason) == "flavor edge-preemptible-c4m16-gpu-2000-1 → edge-c4m16-gpu-2000-1"
    assert reason.replaces


def test_the_providers_notes_in_a_stream_are_dropped_since_they_hold_secrets() -> None:
    state = {"type": "t", "outputs": {"__meta": '{"user_data": "glrt-planted0123456789"}', "name": "vm"}}
    event = {
        "resourcePreEvent": {"metadata": {"op": "create", "urn": "urn:pulumi:d::p::t::vm", "new": state}}
    }
    preview = digest.read(json.dumps(event))
    assert preview.steps[0]["newState"]["outputs"] == {"name": "vm"}
    assert "planted" not in str(preview)


@pytest.mark.parametrize("custom", [{}, {"custom": False}])
def test_components_are_no_resources_of_their_own(custom: dict[str, bool]) -> None:
    kind = "shadow-gpu-runners:index:InstanceGroup"
    urn = f"urn:pulumi:dev::acme::{kind}::pool"
    step = {"op": "create", "urn": urn, "newState": {"type": kind, "urn": urn, **custom}}
    assert not changes(Preview(steps=(step,), errors=(), warnings=(), summary={}))


def test_a_secret_property_is_named_but_not_shown(sample: Load) -> None:
    (change,) = (c for c in changes(sample("replace-and-scale-down")) if c.name == "pool-01")
    assert [str(reason) for reason in change.reasons] == ["user-data changes"]


def test_text_before_the_json_is_skipped() -> None:
    text = 'Installing policy pack {shadow 0.1.0}...\n\n{"steps": [], "changeSummary": {"same": 3}}\n'
    assert digest.read(text).summary == {"same": 3}


@pytest.mark.parametrize("text", ["", "error: no stack selected", "[]", '{"other": 1}'])
def test_anything_else_is_refused_with_the_remedy(text: str) -> None:
    with pytest.raises(InputError, match="pulumi preview --json"):
        digest.read(text)


def test_a_preview_cut_short_is_named_as_such() -> None:
    whole = json.dumps({"steps": [{"op": "create"}]}, indent=4)
    with pytest.raises(InputError, match="cut short"):
        digest.read(whole[:-5])


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"steps": "x"}', "steps is a text"),
        ('{"steps": [1, null]}', r"steps\[1\] is nothing"),
        ('{"steps": [{"newState": {"inputs": "x"}}]}', r"steps\[0\].newState.inputs is a text"),
        ('{"steps": [], "diagnostics": ["x"]}', r"diagnostics\[0\] is a text"),
        ('{"changeSummary": 3}', "changeSummary is a number"),
        ('{"resourcePreEvent": null}', "resourcePreEvent is no object"),
        ('{"diagnosticEvent": 4}', "diagnosticEvent is no object"),
        ('{"steps": ' + "[" * 100_000, "nested too deeply"),
        ('{"steps": [{"op": "create"', "cut short"),
    ],
)
def test_malformed_parts_are_named(text: str, place: str) -> None:
    with pytest.raises(InputError, match=place):
        digest.read(text)


def test_errors_carry_the_resource_they_belong_to(sample: Load) -> None:
    preview = sample("forge-unreachable")
    assert preview.failed
    assert preview.errors[0].startswith("forge: ")


def test_a_stream_without_summary_counts_as_failed() -> None:
    assert digest.read('{"sequence":0,"preludeEvent":{}}').failed


@pytest.mark.parametrize(
    ("kind", "inputs", "number", "words"),
    [
        (
            "openstack:compute/instance:Instance",
            {"flavorName": "edge-c4m16-gpu-2000-1"},
            2,
            "2 GPU instances",
        ),
        ("openstack:compute/instance:Instance", {"flavorName": "micro-c1m2"}, 1, "1 instance"),
        ("openstack:networking/secGroupRule:SecGroupRule", {}, 3, "3 security group rules"),
        ("openstack:networking/routerInterface:RouterInterface", {}, 1, "1 router interface"),
        ("gitlab:index/userRunner:UserRunner", {}, 2, "2 GitLab runners"),
        ("github:index/repositoryDeployKey:RepositoryDeployKey", {}, 1, "1 GitHub repository deploy key"),
        ("acme:index:Policy", {}, 2, "2 policies"),
    ],
)
def test_types_in_words(kind: str, inputs: dict[str, str], number: int, words: str) -> None:
    assert counted(number, noun(kind, inputs)) == words


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("userData", "user-data"),
        ("blockDevices[0].uuid", "image of the boot volume"),
        ("blockDevices[0].bootIndex", "boot volume"),
        ('metadata["x.y"]', "metadata"),
        ("maximumTimeout", "maximum timeout"),
    ],
)
def test_properties_in_words(path: str, words: str) -> None:
    assert property_words(path) == words
