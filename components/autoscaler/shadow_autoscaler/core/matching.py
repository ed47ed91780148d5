"""Which pool serves a job: a documented rule without chance in it.

1. A pool answers to a job when both are of the same forge, the job asks for at least one label, and the pool
   has every label that the job asks for. Letters' case and the labels' order do not matter.
2. Of the pools that answer, the one with the highest `priority` comes first, then the one with the fewest
   labels, then the first by name.
3. The first of them whose policy lets the job in serves it: repository and branch match a pattern, and the
   code does not come from a fork unless the pool takes forks.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from shadow_autoscaler.core.jobs import JobFacts
from shadow_autoscaler.core.pools import Deployment, Pool

NAMED = 10
"""Labels that a reason names."""
LONG = 60
"""Letters of a label that a reason shows."""


@dataclass(frozen=True, slots=True)
class Match:
    """The pool that serves a job, or why none does."""

    pool: str = ""
    reason: str = ""


def match(facts: JobFacts, deployment: Deployment) -> Match:
    """Find the pool for a job."""
    if not facts.labels:
        return Match(reason="it asks for no label, so no pool takes it; give it one of a pool's labels")
    answering = [pool for pool in deployment.pools if _answers(pool, facts)]
    if not answering:
        return Match(reason=_missing(facts, deployment))
    answering.sort(key=lambda pool: (-pool.priority, len(pool.labels), pool.name))
    refusals = [(pool, refusal(pool, facts)) for pool in answering]
    allowed = next((pool.name for pool, why in refusals if not why), "")
    return Match(allowed, "" if allowed else refusals[0][1])


def refusal(pool: Pool, facts: JobFacts) -> str:
    """Say why the pool's policy keeps the job out; empty when it lets it in."""
    policy, project = pool.policy, facts.key.project
    if not _fits(project, policy.repositories):
        return f"pool {pool.name} does not serve repository {project} (policy.repositories)"
    if not _fits(facts.ref, policy.branches):
        return f"pool {pool.name} does not serve branch {facts.ref or 'unknown'} (policy.branches)"
    if facts.fork and not policy.forks:
        return f"pool {pool.name} runs no code from forks (policy.forks is false)"
    return ""


def needs_origin(facts: JobFacts, deployment: Deployment) -> bool:
    """Whether a pool's answer rests on where the code comes from and the forge has not said it yet."""
    return not facts.known_origin and any(
        not pool.policy.forks for pool in deployment.pools if _answers(pool, facts)
    )


def fits_branch(ref: str, patterns: Iterable[str]) -> bool:
    """Whether a branch matches one of the patterns."""
    return _fits(ref, patterns)


def _answers(pool: Pool, facts: JobFacts) -> bool:
    return pool.forge is facts.key.forge and not _lacking(pool, facts)


def _lacking(pool: Pool, facts: JobFacts) -> list[str]:
    has = {label.casefold() for label in pool.labels}
    return [label for label in facts.labels if label.casefold() not in has]


def _fits(text: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(text.casefold(), pattern.casefold()) for pattern in patterns)


def _missing(facts: JobFacts, deployment: Deployment) -> str:
    pools = [pool for pool in deployment.pools if pool.forge is facts.key.forge]
    if not pools:
        return f"no pool is configured for {facts.key.forge}"
    nearest = min(pools, key=lambda pool: (len(_lacking(pool, facts)), pool.name))
    lacking = _some(_lacking(nearest, facts))
    return f"no pool has all its labels; {nearest.name} comes closest and lacks {lacking}"


def _some(labels: list[str]) -> str:
    """Name labels, never so many or so long that a row or a page cannot hold them."""
    ordered = sorted(labels, key=str.casefold)
    named = ", ".join(label if len(label) <= LONG else f"{label[:LONG]}…" for label in ordered[:NAMED])
    return named if len(ordered) <= NAMED else f"{named} and {len(ordered) - NAMED} more"
