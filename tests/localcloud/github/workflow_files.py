"""Reads a workflow file: triggers, jobs, needs, `runs-on`, and the jobs of a matrix."""

import fnmatch
import itertools
import re
from collections.abc import Collection
from typing import Any

import yaml

from localcloud.github.expressions import as_text
from localcloud.github.store import Doc, as_doc, as_list

MAX_MATRIX = 256


class WorkflowError(ValueError):
    """A workflow file that GitHub would refuse; the text names the key at fault."""


def parse(text: str) -> Doc:
    """The file as a document with `name`, `on`, `jobs`, `env`, `permissions`, `defaults`.

    Raises:
        WorkflowError: not YAML, no jobs, a job without steps or `runs-on`, an unknown or circular need.
    """
    try:
        raw: object = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise WorkflowError(f"You have an error in your yaml syntax: {error}") from error
    # YAML 1.1 reads the bare key `on` as true.
    workflow = {"on" if str(key) == "True" else str(key): value for key, value in (as_doc(raw) or {}).items()}
    if not as_doc(workflow.get("jobs")):
        raise WorkflowError("No jobs defined in `jobs`")
    workflow["on"] = _triggers(workflow.get("on"))
    _check_jobs(workflow["jobs"])
    return workflow


def _triggers(value: Any) -> Doc:
    if isinstance(value, str):
        return {value: {}}
    items, pairs = as_list(value), as_doc(value)
    if items is not None:
        return {str(item): {} for item in items}
    if not pairs:
        raise WorkflowError("No event triggers defined in `on`")
    return {name: item or {} for name, item in pairs.items()}


def _check_jobs(jobs: Doc) -> None:
    for key, job in jobs.items():
        if as_doc(job) is None:
            raise WorkflowError(f"jobs.{key}: a mapping is required")
        if "uses" in job:
            raise WorkflowError(
                f"jobs.{key}.uses: reusable workflows are not served here; write its steps out"
            )
        if "runs-on" not in job:
            raise WorkflowError(f"jobs.{key}: required property is missing: runs-on")
        if not as_list(job.get("steps")):
            raise WorkflowError(f"jobs.{key}: required property is missing: steps")
        unknown = [need for need in needs_of(job) if need not in jobs]
        if unknown:
            raise WorkflowError(f"jobs.{key}.needs: job {unknown[0]!r} does not exist")
    _check_circle(jobs)


def _check_circle(jobs: Doc) -> None:
    done: set[str] = set()
    while len(done) < len(jobs):
        ready = [key for key in jobs if key not in done and set(needs_of(jobs[key])) <= done]
        if not ready:
            left = sorted(set(jobs) - done)
            raise WorkflowError(f"jobs: the needs of {', '.join(left)} form a circle")
        done.update(ready)


def needs_of(job: Doc) -> list[str]:
    """Keys of the jobs that a job waits for."""
    return as_texts(job.get("needs"))


def dependents_of(jobs: Doc, keys: set[str]) -> set[str]:
    """The given jobs and all that wait for them, directly or not."""
    found = set(keys)
    while more := {key for key, job in jobs.items() if found & set(needs_of(job))} - found:
        found |= more
    return found


def as_texts(value: Any) -> list[str]:
    """A text or a list of texts, as a list."""
    items = as_list(value)
    if items is not None:
        return [as_text(item) for item in items]
    return [] if value is None else [as_text(value)]


def runs_on(value: Any) -> tuple[list[str], str | None]:
    """Labels and group of an evaluated `runs-on`."""
    pairs = as_doc(value)
    if pairs is None:
        return as_texts(value), None
    return as_texts(pairs.get("labels")), pairs.get("group")


def expand_matrix(matrix: Any) -> list[Doc]:
    """All combinations after `exclude` and `include`; one empty combination where there is no matrix.

    Raises:
        WorkflowError: more than 256 combinations.
    """
    pairs = as_doc(matrix)
    if not pairs:
        return [{}]
    axes = {key: as_list(value) or [] for key, value in pairs.items() if key not in ("include", "exclude")}
    combined: list[Doc] = []
    if axes:
        combined = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    excluded = _docs(pairs.get("exclude"))
    combined = [item for item in combined if not any(_matches(item, rule) for rule in excluded)]
    combined = _include(combined, set(axes), _docs(pairs.get("include")))
    if len(combined) > MAX_MATRIX:
        raise WorkflowError(f"Strategy expansion exceeded {MAX_MATRIX} results")
    nothing: Doc = {}
    return combined or [nothing]


def _docs(value: Any) -> list[Doc]:
    return [as_doc(item) or {} for item in as_list(value) or []]


def _matches(item: Doc, rule: Doc) -> bool:
    return all(item.get(key) == value for key, value in rule.items())


def _include(combined: list[Doc], axes: set[str], extras: list[Doc]) -> list[Doc]:
    original = [dict(item) for item in combined]
    alone: list[Doc] = []
    for extra in extras:
        shared = {key: value for key, value in extra.items() if key in axes}
        fitting = [place for place, item in enumerate(original) if _matches(item, shared)]
        for place in fitting:
            combined[place] = {**combined[place], **extra}
        if not fitting:
            alone.append(extra)
    return combined + alone


def job_name(key: str, name: str | None, combination: Doc) -> str:
    """Name that GitHub shows: `name (a, b)` for a matrix job whose name has no expression of its own."""
    if not combination or (name and "matrix." in name):
        return name or key
    return f"{name or key} ({', '.join(as_text(value) for value in combination.values())})"


def triggered(workflow: Doc, event: str, branch: str, changed: Collection[str] = ()) -> bool:
    """Whether an event on a branch that changes these files starts the workflow."""
    rule: Doc | None = workflow["on"].get(event)
    if rule is None:
        return False
    wanted, ignored = as_texts(rule.get("branches")), as_texts(rule.get("branches-ignore"))
    if any(fnmatch.fnmatchcase(branch, pattern) for pattern in ignored):
        return False
    if wanted and not any(fnmatch.fnmatchcase(branch, pattern) for pattern in wanted):
        return False
    return _touches(as_texts(rule.get("paths")), as_texts(rule.get("paths-ignore")), changed)


def _touches(wanted: list[str], ignored: list[str], changed: Collection[str]) -> bool:
    if wanted:
        return any(_chosen(path, wanted) for path in changed)
    return not ignored or any(not _chosen(path, ignored) for path in changed)


def _chosen(path: str, patterns: list[str]) -> bool:
    """Whether the last pattern that fits a path is not a `!` pattern."""
    found = False
    for pattern in patterns:
        if re.fullmatch(_regular(pattern.removeprefix("!")), path):
            found = not pattern.startswith("!")
    return found


def _regular(pattern: str) -> str:
    """The expression for a path filter: `**` crosses folders, `*` does not."""
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}
    return "".join(known.get(part, re.escape(part)) for part in re.split(r"(\*\*/|\*\*|\*)", pattern))
