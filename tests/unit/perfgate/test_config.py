"""perfgate.toml: one documented form, all faults at once."""

import tomllib
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shadow_perfgate.config import Config, load, parse
from shadow_perfgate.decide.rules import Role, Threshold
from shadow_perfgate.errors import InputError
from shadow_perfgate.metrics import CANONICAL
from shadow_perfgate.model import Direction, Kind

PLACE = Path("perfgate.toml")


def read(text: str) -> Config:
    return parse(tomllib.loads(text), PLACE)


def faults(text: str) -> tuple[str, ...]:
    with pytest.raises(InputError) as caught:
        read(text)
    return caught.value.faults


def test_an_empty_file_means_the_defaults() -> None:
    config = read("")
    assert config.rules.threshold(CANONICAL["itl_median"], "x") == Threshold(Role.GATE, 0.05)
    assert config.rules.threshold(CANONICAL["peak_vram_allocated"], "x") == Threshold(Role.GATE, 0.01, 8.0)
    assert config.rules.threshold(CANONICAL["errors"], "x") == Threshold(Role.GATE, 0.0)
    assert config.rules.threshold(CANONICAL["ttft_p99"], "x").role is Role.OBSERVE


def test_everything_that_can_be_said() -> None:
    config = read("""
        project = "acme/llm"
        prepare = [["pip", "install", "-e", "."]]
        [gate]
        main = "trunk"
        alpha = 0.005
        looks = [8, 16]
        noisy_looks = [10, 30]
        stored_runs = 0
        missing_baseline = "bootstrap"
        check_output = false
        [metrics.itl_median]
        limit = "3.5%"
        floor = "200 us"
        [metrics."decode/itl_median"]
        role = "observe"
        [metrics.kv_hits]
        unit = "ratio"
        direction = "higher"
        [leak]
        role = "observe"
        floor = "1 GiB"
        min_batches = 100
        [[waiver]]
        metric = "itl_median"
        workload = "decode"
        up_to = "8%"
        reason = "safety filter, agreed in !412"
        expires = 2026-12-24
        [aliases]
        step_ms = "itl_median"
        [store]
        url = "s3://bucket/gate"
        endpoint = "https://s3.example.com"
    """)
    rules = config.rules
    assert rules.thresholds["itl_median"] == Threshold(Role.GATE, 0.035, pytest.approx(0.2))
    assert rules.thresholds["decode/itl_median"].role is Role.OBSERVE
    assert (rules.looks, rules.noisy_looks, rules.alpha) == ((8, 16), (10, 30), 0.005)
    assert (rules.leak.floor, rules.leak.min_points, rules.leak.role) == (1024.0, 100, Role.OBSERVE)
    assert (rules.waivers[0].up_to, rules.waivers[0].expires) == (0.08, date(2026, 12, 24))
    assert config.specs["kv_hits"].direction is Direction.HIGHER
    assert config.specs["kv_hits"].kind is Kind.SAMPLED
    assert config.store_options == {"endpoint": "https://s3.example.com"}
    assert config.prepare == (("pip", "install", "-e", "."),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("surprise = 1", "surprise: unknown key"),
        ("[gate]\nlooks = [6, 6]", "looks must ascend and"),
        ("[gate]\nlooks = [3]", "begin at min_runs (5)"),
        ("[gate]\nlooks = [6, 1500]", "looks must ascend and stay at 1000 or below"),
        ("[gate]\nmin_runs = 3", "gate.min_runs"),
        ('[gate]\nmissing_baseline = "skip"', "gate.missing_baseline"),
        ("[gate]\nalpha = 0.5", "gate.alpha"),
        ('[metrics.itl]\nlimit = "5%"', "metrics.itl: got 'itl', expected a canonical metric"),
        ('[metrics.mine]\nunit = "ms"', "both unit and direction"),
        ('[metrics.itl_median]\nunit = "ms"\ndirection = "lower"', "is canonical"),
        ('[metrics.itl_median]\nfloor = "3"', "expected an amount in ms"),
        ('[metrics.itl_median]\nfloor = "3 MiB"', "expected an amount in ms"),
        ('[leak]\nfloor = "3 ms"', "leak.floor"),
        ('[[waiver]]\nmetric = "itl_median"\nreason = "because"', "waiver[0].reason"),
        ('[[waiver]]\nmetric = "x"\nreason = "long enough"\nexpires = "soon"', "waiver[0].expires"),
        (
            '[[waiver]]\nmetric = "itl_median"\nreason = "long reason"\nexpires = 2026-01-01',
            "waiver[0].up_to",
        ),
        ("[metrics.itl_median]\nlimit = nan", "metrics.itl_median.limit"),
        ("prepare = [[]]", "prepare[0]"),
    ],
)
def test_faults_name_key_value_and_remedy(text: str, words: str) -> None:
    found = "\n".join(faults(text))
    assert words in found
    assert found.startswith("perfgate.toml: ")


def test_all_faults_are_named_at_once() -> None:
    found = faults("a = 1\n[gate]\nb = 2\n[metrics.itl_median]\nlimit = 5\nfloor = 3\n[store]\nc = 4")
    assert len(found) == 5


@given(st.one_of(st.integers(), st.floats(), st.text(max_size=8), st.booleans()))
def test_limits_have_one_form_only(value: object) -> None:
    table = {"metrics": {"itl_median": {"limit": value}}}
    good = isinstance(value, str) and value.endswith("%") and value[:-1].replace(".", "", 1).isascii()
    if not good:
        with pytest.raises(InputError):
            parse(table, PLACE)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"[", b"a = ", b"\xef\xbb\xbfa = 1"])
def test_files_that_are_no_toml(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "perfgate.toml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"perfgate\.toml"):
        load(path)


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="shadow-perfgate init"):
        load(tmp_path / "other.toml")
