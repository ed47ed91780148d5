"""A logical name, which may hold the URN's own separator, is the same one wherever it is shown."""

import pytest

from preview.resources import Change
from shadow_gpu_runners.cost import Item
from shadow_gpu_runners.fallback import Failure
from shadow_gpu_runners.preview import Resource
from shadow_gpu_runners.urns import name_of

PREFIX = "urn:pulumi:dev::acme::shadow-gpu-runners:index:InstanceGroup$openstack:compute/instance:Instance::"


@pytest.mark.parametrize("name", ["ci-01", "team::ci-01", "a::b::c", "::", "ends::"])
def test_every_reader_gives_the_whole_name(name: str) -> None:
    urn = PREFIX + name
    shown = (
        name_of(urn),
        Resource(urn, "t", {}, {}).name,
        Item(urn, "server", "f").name,
        Failure(urn, "other", "m").name,
        Change("create", urn, "t", "server").name,
    )
    assert set(shown) == {name}


@pytest.mark.parametrize(
    ("text", "name"), [("", ""), ("pulumi:pulumi:Stack", "pulumi:pulumi:Stack"), ("a::b", "b")]
)
def test_a_text_that_is_no_urn_has_its_last_part_as_name(text: str, name: str) -> None:
    assert name_of(text) == name
