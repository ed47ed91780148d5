"""Price books: defaults with source and date, files with all their faults at once."""

import datetime as dt
import json
import subprocess
import sys
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pytest

from shadow_gpu_runners.catalog import OFFERS
from shadow_gpu_runners.prices import Price, PriceBook, PriceFileError, default_book

GOOD = """
source: invoice 2027-01
as_of: 2027-01-31
flavors:
  boost-c8m32-gpu-a4500-1: 0.58
  edge-preemptible-c4m16-gpu-2000-1: {eur_per_hour: "0.27", source: contract, assumed: true}
volumes: {Wood: "0.0001"}
floating_ip: "0.004"
"""


def test_the_default_book_prices_every_offer_with_source_and_date() -> None:
    book = default_book()
    for known in OFFERS:
        spot, on_demand = book.twins(known.flavor)
        assert spot is not None
        assert on_demand is not None
        assert not spot.assumed
        assert on_demand.assumed
        assert spot.as_of == on_demand.as_of == dt.date(2026, 11, 30)
        saved = 1 - spot.eur_per_hour / on_demand.eur_per_hour
        assert Decimal("0.3") <= saved <= Decimal("0.5")


def test_published_from_prices() -> None:
    book = default_book()
    small, large = (
        book.flavor(name)
        for name in ("edge-preemptible-c4m16-gpu-2000-1", "boost-preemptible-c64m256-gpu-a4500-8")
    )
    assert small is not None
    assert large is not None
    assert (small.eur_per_hour, large.eur_per_hour) == (Decimal("0.29"), Decimal("2.80"))
    assert small.eur_per_month == Decimal("211.70")
    assert book.floating_ip is None


@pytest.mark.parametrize("as_json", [False, True])
def test_a_file_overrides_the_defaults_exactly(tmp_path: Path, as_json: bool) -> None:
    path = tmp_path / "prices"
    data = {
        "source": "invoice 2027-01",
        "as_of": "2027-01-31",
        "flavors": {
            "boost-c8m32-gpu-a4500-1": 0.58,
            "edge-preemptible-c4m16-gpu-2000-1": {
                "eur_per_hour": "0.27",
                "source": "contract",
                "assumed": True,
            },
        },
        "volumes": {"Wood": "0.0001"},
        "floating_ip": "0.004",
    }
    path.write_text(json.dumps(data) if as_json else GOOD)
    book = PriceBook.load(path)
    boost, edge = book.flavor("boost-c8m32-gpu-a4500-1"), book.flavor("edge-preemptible-c4m16-gpu-2000-1")
    assert boost is not None
    assert edge is not None
    assert boost.eur_per_hour == Decimal("0.58")
    assert (boost.source, boost.as_of, boost.assumed) == ("invoice 2027-01", dt.date(2027, 1, 31), False)
    assert (edge.source, edge.assumed) == ("contract", True)
    assert book.volumes["Wood"].eur_per_hour == Decimal("0.0001")
    assert book.floating_ip is not None
    assert book.flavor("boost-c16m64-gpu-a4500-2") == default_book().flavor("boost-c16m64-gpu-a4500-2")


def test_all_faults_of_a_file_are_told_with_their_keys(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text("as_of: soon\ncurrency: USD\nflavors: {a: -1, b: cheap, c: .inf}\nvolumes: 3\n")
    with pytest.raises(PriceFileError) as caught:
        PriceBook.load(path)
    text = str(caught.value)
    for key in ("source", "as_of", "currency", "flavors.a", "flavors.b", "flavors.c", "volumes"):
        assert f"{path}:{key}" in text
    assert "7 fault(s)" in text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        ("a: [", "not YAML"),
        ("- 1", "whole file"),
        ("", "source"),
        ("as_of: 2026-13-01", "not YAML.*month"),
        ("[" * 2_000, "not YAML"),
        ("flavors: {a: 1, b: 2, a: 3}", "given twice: a"),
        ("source: s\nas_of: 2026-01-01\nflavors: {a: 1e30}", "flavors.a.*1000000"),
    ],
)
def test_an_unusable_file_says_why(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "prices.yaml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(PriceFileError, match=message):
        PriceBook.load(path)


def test_aliases_that_stand_for_billions_of_entries_are_refused(tmp_path: Path) -> None:
    lines = [f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]" for before, name in pairwise("abcdefghij")]
    path = tmp_path / "prices.yaml"
    path.write_text("\n".join(["a: &a [1]", *lines, "flavors: {x: *j}"]))
    with pytest.raises(PriceFileError, match=r"alias \*a; write the value out"):
        PriceBook.load(path)


def test_a_file_that_is_no_text_says_so(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PriceFileError, match="not YAML"):
        PriceBook.load(path)


def test_what_stands_under_an_unknown_key_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text("token: glpat-planted")
    with pytest.raises(PriceFileError, match="token") as caught:
        PriceBook.load(path)
    assert "planted" not in str(caught.value)


def test_a_long_value_is_shown_in_short(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(f"flavors: [{', '.join(['[x, [y, [z]]]'] * 2000)}]\n")
    with pytest.raises(PriceFileError, match="flavors") as caught:
        PriceBook.load(path)
    assert len(str(caught.value)) < 2_000


@pytest.mark.parametrize("amount", ["NaN", "-1", "Infinity", "1e30"])
def test_no_price_spoils_a_sum(amount: str) -> None:
    with pytest.raises(ValueError, match=r"contract.*expected 0 to"):
        Price(Decimal(amount), "contract", dt.date(2026, 1, 1), assumed=False)


def test_catalog_cost_and_quota_load_neither_pulumi_nor_a_forges_library() -> None:
    program = (
        "import sys\n"
        "from shadow_gpu_runners import catalog, cost, fallback, preview, prices, quota, regions, spot\n"
        "print([m for m in ('pulumi', 'grpc', 'openstack', 'gitlab', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
