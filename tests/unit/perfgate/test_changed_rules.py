"""A change that loosens what it is held to says so in its own report."""

import subprocess
from pathlib import Path

import pytest

from shadow_perfgate import config
from shadow_perfgate.gate.changed_rules import changed_rules


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
        (WORKLOAD, WORKLOAD.replace("bench", "other"), "measured in another way, base's code too: command"),
        (OWN, OWN.replace("lower", "higher"), "meaning of mine moved: ms, lower is better"),
    ],
)
def test_a_workload_or_metric_that_means_something_else_is_told(
    tmp_path: Path, before: str, after: str, said: str
) -> None:
    notices = told(tmp_path, before, after)
    assert len(notices) == 1
    assert said in notices[0]


def told(tmp_path: Path, before: str, after: str) -> list[str]:
    """Return the notices about a change from one configuration to the other."""

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=x", "-c", "user.email=x@localhost")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    place = tmp_path / "perfgate.toml"
    place.write_text(f'project = "p"\n{before}\n', encoding="utf-8")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "base")
    place.write_text(f'project = "p"\n{after}\n', encoding="utf-8")
    return changed_rules(tmp_path, "HEAD", config.load(place))
