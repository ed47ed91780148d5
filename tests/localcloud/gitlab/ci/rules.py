"""Which jobs of a CI file run in one pipeline: `rules`, `workflow`, `only` and `except`."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from localcloud.gitlab.ci import expression, globs, normalise
from localcloud.gitlab.ci.spec import CiConfig, JobSpec
from localcloud.gitlab.shapes import as_list, is_tree

VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
SOURCES = {
    "pushes": "push", "api": "api", "web": "web", "schedules": "schedule", "triggers": "trigger",
    "merge_requests": "merge_request_event", "pipelines": "pipeline", "external": "external", "chat": "chat",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Situation:
    """What rules may ask about; `changed` gives None where there is nothing to compare with."""

    ref: str
    tag: bool
    source: str
    variables: Mapping[str, str]
    changed: Callable[[], list[str] | None]
    files: Callable[[], list[str]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The rule that matched."""

    when: str
    rule: dict[str, Any]


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace $NAME and ${NAME} by their values; unknown names become nothing."""
    return VARIABLE.sub(lambda match: variables.get(match.group(1) or match.group(2), ""), text)


def workflow_allows(config: CiConfig, situation: Situation) -> tuple[bool, dict[str, str]]:
    """Whether `workflow:rules` let the pipeline be created, and the variables they add."""
    if config.workflow_rules is None:
        return True, {}
    verdict = first_match(config.workflow_rules, situation)
    added = normalise.variables(verdict.rule.get("variables")) if verdict else {}
    allowed = verdict is not None and verdict.when != "never"
    return allowed, {key: variable.value for key, variable in added.items()}


def jobs_for(config: CiConfig, situation: Situation) -> list[JobSpec]:
    """The jobs that this pipeline gets, with what their matching rule changed."""
    return [chosen for job in config.jobs if (chosen := _apply(job, situation))]


def first_match(
    rules: list[dict[str, Any]], situation: Situation, default: str = "on_success"
) -> Verdict | None:
    """The first rule whose every clause holds."""
    for rule in rules:
        if _holds(rule, situation):
            return Verdict(str(rule.get("when", default)), rule)
    return None


def _apply(job: JobSpec, situation: Situation) -> JobSpec | None:
    own = {key: variable.value for key, variable in job.variables.items()}
    inside = replace(situation, variables=own | dict(situation.variables))
    if job.rules is not None:
        return _apply_rules(job, inside)
    only = job.only or {"refs": ["branches", "tags"]}
    if not _policy_holds(only, inside, empty=True):
        return None
    if job.except_ is not None and _policy_holds(job.except_, inside, empty=False):
        return None
    return None if job.when == "never" else _expanded(job, inside.variables)


def _apply_rules(job: JobSpec, situation: Situation) -> JobSpec | None:
    verdict = first_match(job.rules or [], situation, job.when)
    if verdict is None or verdict.when == "never":
        return None
    rule = verdict.rule
    allow = rule.get("allow_failure", job.allow_failure)
    changed = replace(
        job, when=verdict.when, variables=job.variables | normalise.variables(rule.get("variables"))
    )
    if isinstance(allow, bool):
        changed = replace(changed, allow_failure=allow)
    if "needs" in rule:
        needs = normalise.jobs_of(job.name, {"script": "-", "needs": rule["needs"]}, {}, {})[0].needs
        changed = replace(changed, needs=needs)
    return _expanded(changed, situation.variables)


def _expanded(job: JobSpec, variables: Mapping[str, str]) -> JobSpec:
    tags = [expand(tag, variables) for tag in job.tags]
    environment = job.environment
    if environment and "name" in environment:
        environment = environment | {"name": expand(str(environment["name"]), variables)}
    return replace(job, tags=[tag for tag in tags if tag], environment=environment)


def _holds(rule: dict[str, Any], situation: Situation) -> bool:
    if "if" in rule and not expression.evaluate(str(rule["if"]), situation.variables):
        return False
    if "changes" in rule and not _changed(rule["changes"], situation):
        return False
    return "exists" not in rule or _exists(rule["exists"], situation)


def _changed(clause: Any, situation: Situation) -> bool:
    patterns = as_list(clause.get("paths") if is_tree(clause) else clause)
    changed = situation.changed()
    wanted = [expand(str(pattern), situation.variables) for pattern in patterns]
    return changed is None or globs.any_match(changed, wanted)


def _exists(clause: Any, situation: Situation) -> bool:
    patterns = as_list(clause.get("paths") if is_tree(clause) else clause)
    wanted = [expand(str(pattern), situation.variables).lstrip("/") for pattern in patterns]
    return globs.any_match(situation.files(), wanted)


def _policy_holds(policy: dict[str, Any], situation: Situation, *, empty: bool) -> bool:
    """`only` needs every clause, `except` any of them; `empty` tells which."""
    answers: list[bool] = []
    if "refs" in policy:
        answers.append(any(_ref_holds(str(name), situation) for name in as_list(policy["refs"])))
    if "variables" in policy:
        texts = [str(text) for text in as_list(policy["variables"])]
        answers.append(any(expression.evaluate(text, situation.variables) for text in texts))
    if "changes" in policy:
        answers.append(_changed(policy["changes"], situation))
    return all(answers) if empty else any(answers)


def _ref_holds(name: str, situation: Situation) -> bool:
    merge_request = situation.source == "merge_request_event"
    if name == "branches":
        return not situation.tag and not merge_request
    if name == "tags":
        return situation.tag
    if name in SOURCES:
        return situation.source == SOURCES[name]
    if merge_request:
        return False
    if name.startswith("/"):
        return expression.pattern(name).search(situation.ref) is not None
    return name.partition("@")[0] == situation.ref
