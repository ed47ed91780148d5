"""A change that loosens what it is held to says so in its own report."""

import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from shadow_perfgate import config
from shadow_perfgate.gate.judging import Judged, judge
from shadow_perfgate.metrics import CANONICAL


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ('[metrics.itl_median]\nlimit = "90%"', "limit of itl_median moved: default -> gate 90 %"),
        ('[leak]\nrole = "observe"', "leak moved: gate above 64 MiB after 60 batches -> observe"),
        ("[gate]\nalpha = 0.0001", "alpha moved: 0.01 -> 0.0001"),
        ("[gate]\nlooks = [6]", "looks moved: [6, 12, 24] -> [6]"),
        ("[gate]\nmin_runs = 6", "min_runs moved: 5 -> 6"),
        ('[gate]\nmissing_baseline = "bootstrap"', "missing_baseline moved: warn -> bootstrap"),
        ('[store]\nurl = "folder:other"', "store moved: folder:.perfgate -> folder:other"),
        ('[store]\nendpoint = "https://x"', "store_options moved: {} -> {'endpoint': 'https://x'}"),
        ('[aliases]\nold = "itl_median"', "aliases moved: {} -> {'old': 'itl_median'}"),
    ],
)
def test_every_loosened_rule_is_told(tmp_path: Path, after: str, said: str) -> None:
    notices = told(tmp_path, "", after)
    assert len(notices) == 1
    assert said in notices[0]


WORKLOAD = '[[workload]]\nname = "w"\nengine = "command"\n[workload.command]\nargv = ["python3", "bench.py"]'
OWN = '[metrics.mine]\nunit = "ms"\ndirection = "lower"'


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (WORKLOAD, WORKLOAD.replace("bench", "other"), "measured in another way: command moved"),
        (OWN, OWN.replace("lower", "higher"), "meaning of mine moved: ms, lower is better"),
    ],
)
def test_a_workload_or_metric_that_means_something_else_is_told(
    tmp_path: Path, before: str, after: str, said: str
) -> None:
    notices = told(tmp_path, before, after)
    assert len(notices) == 1
    assert said in notices[0]


def told(tmp_path: Path, before: str, after: str, wanted: str = "head") -> list[str]:
    """Return the notices about a change from one configuration to the other."""
    return list(changed(tmp_path, before, after, wanted).notices)


def changed(tmp_path: Path, before: str, after: str, wanted: str = "config") -> Judged:
    """Return what judges a change from one configuration to the other."""

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=x", "-c", "user.email=x@localhost")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    place = tmp_path / "perfgate.toml"
    place.write_text(f'project = "p"\n{before}\n', encoding="utf-8")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "base")
    place.write_text(f'project = "p"\n{after}\n', encoding="utf-8")
    return judge(config.load(place), tmp_path, "HEAD", wanted)


WAIVER = '[[waiver]]\nmetric = "itl_median"\nup_to = "50%"\nreason = "it is fine"\nexpires = 2999-01-01'


@pytest.mark.parametrize(
    "after",
    [
        '[metrics.itl_median]\nlimit = "90%"',
        '[metrics.itl_median]\nrole = "observe"',
        '[metrics."w/itl_median"]\nlimit = "90%"',
        '[metrics.itl_median]\nfloor = "99 ms"',
        "[gate]\nalpha = 0.0001",
        "[gate]\ncheck_output = false",
        "[gate]\nmin_runs = 50\nlooks = [50]\nnoisy_looks = [50]",
        '[gate]\nmissing_baseline = "bootstrap"',
        '[gate]\nrules_from = "head"',
        '[leak]\nrole = "observe"',
        '[store]\nurl = "folder:other"',
        '[aliases]\nitl_median = "start_time"',
        WAIVER,
    ],
)
def test_nothing_that_a_change_loosens_holds_for_itself(tmp_path: Path, after: str) -> None:
    found = changed(tmp_path, WORKLOAD, f"{after}\n{WORKLOAD}")
    before = config.parse(tomllib.loads(f'project = "p"\n{WORKLOAD}'), tmp_path / "perfgate.toml")
    assert replace(found.config, specs=before.specs) == before
    assert "judged by the perfgate.toml of the merge-base" in found.notices[0]
    assert found.notices[1].endswith("not used here, it holds once merged")


def test_a_limit_for_what_could_not_block_before_holds_at_once(tmp_path: Path) -> None:
    found = changed(tmp_path, OWN, f'{OWN}\n[metrics.e2e_p95]\nlimit = "9%"\n{OWN.replace("mine", "new")}')
    assert found.config.rules.thresholds["e2e_p95"].limit == 0.09
    assert {"mine", "new"} == set(found.config.specs)
    assert not found.notices


def test_a_new_workload_is_judged_by_the_rules_that_come_with_it(tmp_path: Path) -> None:
    new = WORKLOAD.replace('"w"', '"new"')
    found = changed(tmp_path, WORKLOAD, f'[metrics.itl_median]\nlimit = "9%"\n{WORKLOAD}\n{new}')
    spec = CANONICAL["itl_median"]
    limits = {name: found.config.rules_for(name).threshold(spec, name).limit for name in ("w", "new")}
    assert limits == {"w": 0.05, "new": 0.09}


def test_base_is_made_ready_by_its_own_commands(tmp_path: Path) -> None:
    found = changed(tmp_path, 'prepare = [["true"]]', 'prepare = [["false"]]')
    assert found.before is not None
    assert (found.before.prepare, found.config.prepare) == ((("true",),), (("false",),))


@pytest.mark.parametrize("base", ["", "no-such-commit"])
def test_without_a_base_its_own_rules_hold(tmp_path: Path, base: str) -> None:
    head = config.parse({}, tmp_path / "perfgate.toml")
    assert judge(head, tmp_path, base) == Judged(head)
