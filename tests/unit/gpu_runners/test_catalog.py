"""Flavor names, offers, spot names, regions and the placement of a group, by example and by property."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shadow_gpu_runners import catalog, regions
from shadow_gpu_runners._market import half, instance_names, slots
from shadow_gpu_runners.catalog import OFFERS, FlavorName, FlavorNameError
from shadow_gpu_runners.spot import SHADOW, Prefix, SecondWord, SpotNames, SpotRule, Suffix, parse_rule

WORDS = st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True)
NAMES = st.builds(
    FlavorName,
    range=WORDS,
    vcpus=st.integers(1, 9999),
    ram_gib=st.integers(1, 99999),
    model=WORDS,
    cards=st.integers(1, 99),
    spot=st.booleans(),
)


@given(NAMES)
def test_a_name_survives_writing_and_reading(name: FlavorName) -> None:
    assert FlavorName.parse(str(name)) == name


@given(NAMES)
def test_twins_lead_back_to_each_other(name: FlavorName) -> None:
    assert name.preemptible().on_demand() == name.on_demand()
    assert SHADOW.spot_name(str(name.on_demand())) == str(name.preemptible())
    assert SHADOW.is_spot(str(name)) == name.spot


@given(
    st.from_regex(
        r"[a-z]{1,3}(-preemptible)?-c[0-9]{1,4}m[0-9]{1,4}-gpu-[a-z0-9]{1,4}-[0-9]{1,2}", fullmatch=True
    )
)
def test_what_is_read_is_written_the_same(text: str) -> None:
    try:
        name = FlavorName.parse(text)
    except FlavorNameError:
        assert "0" in text
        return
    assert str(name) == text


@pytest.mark.parametrize(
    "text",
    ["", "boost", "boost-c8m12", "boost-c8m12-gpu-1080", "boost-c08m12-gpu-1080-1", "Boost-c8m12-gpu-1080-1"],
)
def test_other_names_are_refused_with_the_grammar_and_a_remedy(text: str) -> None:
    with pytest.raises(FlavorNameError, match=r"<range>.*openstack flavor list"):
        FlavorName.parse(text)


def test_the_articles_and_shadows_examples() -> None:
    assert (
        str(FlavorName.parse("boost-c8m12-gpu-1080-1").preemptible()) == "boost-preemptible-c8m12-gpu-1080-1"
    )
    assert FlavorName.parse("edge-c4m16-gpu-2000-1") == FlavorName("edge", 4, 16, "2000", 1)


def test_offers_fit_their_gpus_and_are_marked_as_examples() -> None:
    for known in OFFERS:
        assert known.example
        assert 1 <= known.cards <= known.gpu.max_cards
        assert known.vram_mib == known.cards * known.gpu.vram_mib
    largest = catalog.offer("boost-preemptible-c64m256-gpu-a4500-8")
    assert largest is not None
    assert largest.vram_mib == 163_840
    assert catalog.offer("boost-c1m1-gpu-a4500-1") is None
    assert catalog.offer("nothing") is None


def test_near_matches_come_from_the_catalog_or_a_list() -> None:
    assert catalog.near_matches("bost-c8m32-gpu-a4500-1")[0] == "boost-c8m32-gpu-a4500-1"
    assert catalog.near_matches("gpu-big", ["gpu-bigger", "cpu"]) == ["gpu-bigger"]
    assert catalog.near_matches("zzz", ["gpu-bigger"]) == []


@given(name=WORDS, rule=st.sampled_from([SecondWord("spot"), Prefix("spot."), Suffix("-spot")]))
def test_every_rule_leads_back(name: str, rule: SpotRule) -> None:
    assert rule.on_demand_name(rule.spot_name(name)) == name


def test_flavors_without_gpu_follow_the_rule_too() -> None:
    assert SHADOW.spot_name("edge-c2m4") == "edge-preemptible-c2m4"
    assert SHADOW.on_demand_name("edge-preemptible-c2m4") == "edge-c2m4"
    assert not SHADOW.is_spot("preemptible")


def test_overrides_win_in_both_directions() -> None:
    names = SpotNames(overrides={"big": "cheap-big"})
    assert names.spot_name("big") == "cheap-big"
    assert names.on_demand_name("cheap-big") == "big"
    assert names.spot_name("edge-c2m4") == "edge-preemptible-c2m4"


def test_written_rules() -> None:
    assert parse_rule("prefix:spot.") == Prefix("spot.")
    assert parse_rule("second-word:preemptible") == SecondWord()
    assert parse_rule("suffix:-s") == Suffix("-s")
    for text in ("", "prefix:", "prefix", "other:x"):
        with pytest.raises(ValueError, match="second-word:<word>"):
            parse_rule(text)


def test_regions() -> None:
    assert regions.region("frsbg01").auth_url == "https://auth.frsbg01.os.shadow.tech/v3"
    assert len(regions.REGIONS) == 7
    with pytest.raises(KeyError, match="FRDUN02"):
        regions.region("PARIS")


@given(larger=st.integers(0, 150), smaller=st.integers(0, 150))
def test_a_smaller_group_is_the_beginning_of_a_larger_one(larger: int, smaller: int) -> None:
    assume(smaller <= larger)
    names = instance_names("ci", larger)
    assert names[:smaller] == instance_names("ci", smaller)
    assert len(set(names)) == larger


@given(
    count=st.integers(0, 40),
    zones=st.lists(WORDS, max_size=4, unique=True),
    market=st.sampled_from(["spot", "on-demand", "spot-then-on-demand"]),
    away=st.integers(1, 40),
    data=st.data(),
)
def test_scaling_by_one_changes_nothing_else(
    count: int, zones: list[str], market: str, away: int, data: st.DataObject
) -> None:
    names = instance_names("ci", count + 1)
    fallback = data.draw(st.lists(st.sampled_from(names), unique=True))
    settled = [
        slots(
            names=names[:size],
            flavor="boost-c8m32-gpu-a4500-1",
            market=market,
            fallback=fallback,
            zones=zones,
            twins=SHADOW,
            max_unavailable=away,
        )
        for size in (count, count + 1)
    ]
    assert settled[1][:count] == settled[0]
    for slot in settled[1]:
        assert slot.spot == SHADOW.is_spot(slot.flavor)
        assert slot.spot == (market == "spot" or (market != "on-demand" and slot.name not in fallback))


@given(count=st.integers(1, 60), away=st.integers(1, 60))
def test_never_more_than_allowed_are_away_at_once(count: int, away: int) -> None:
    placed = slots(
        names=instance_names("ci", count),
        flavor="x-y",
        market="spot",
        fallback=[],
        zones=[],
        twins=SHADOW,
        max_unavailable=away,
    )
    waits = {slot.name: slot.after for slot in placed}
    free = [name for name, after in waits.items() if after is None]
    followers = [after for after in waits.values() if after is not None]
    assert len(free) == min(count, away)
    assert len(set(followers)) == len(followers)


@given(count=st.integers(2, 100))
def test_by_default_some_of_a_group_stays(count: int) -> None:
    assert 1 <= half(count) < count or count == 1
