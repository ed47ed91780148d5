"""Makes a failing scenario small: fewer kinds of trouble, then fewer jobs, as long as it still fails."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from chaos.scenario import Scenario, Trouble

Fails = Callable[[Scenario], bool]


def shrink(scenario: Scenario, fails: Fails, seeds: int = 3) -> Scenario:
    """Return the smallest scenario found that fails; the given one, which fails, at worst.

    Fewer jobs change every draw that follows, so each size is tried with a few other seeds as well.
    """
    smallest = _fewer_troubles(scenario, fails)
    while smaller := next(filter(fails, _fewer_jobs(smallest, seeds)), None):
        smallest = smaller
    return _fewer_troubles(smallest, fails)


def _fewer_troubles(scenario: Scenario, fails: Fails) -> Scenario:
    for trouble in Trouble:
        less = replace(scenario, trouble=scenario.trouble - {trouble})
        if trouble in scenario.trouble and fails(less):
            scenario = less
    return scenario


def _fewer_jobs(scenario: Scenario, seeds: int) -> Iterator[Scenario]:
    for share in (0.25, 0.5, 0.75, 0.9):
        jobs = int(scenario.jobs * share)
        if 0 < jobs < scenario.jobs:
            for shift in range(seeds):
                yield replace(scenario, jobs=jobs, seed=scenario.seed + 1_000_003 * shift)
