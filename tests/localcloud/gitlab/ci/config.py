"""Compiling a CI file: every fault is reported at once, as GitLab's CI lint does."""

from typing import Any

from localcloud.gitlab.ci import keywords, loader, normalise
from localcloud.gitlab.ci.loader import CiError, ReadFile
from localcloud.gitlab.ci.spec import CiConfig, JobSpec
from localcloud.gitlab.shapes import Tree, as_list, is_list, is_tree
from localcloud.gitlab.shapes import tree as subtree

DEFAULT_STAGES = ["build", "test", "deploy"]


def compile_file(text: bytes, read: ReadFile) -> CiConfig:
    """The pipeline definition in a CI file; raises `CiError` with all its faults."""
    tree = loader.load(text, read)
    stages = _stages(tree.get("stages"))
    visible = {
        name: job for name, job in tree.items() if name not in keywords.GLOBALS and not name.startswith(".")
    }
    problems = _global_problems(tree, visible)
    for name, job in visible.items():
        problems += (
            keywords.job_problems(name, job) if is_tree(job) else [f"jobs:{name} config should be a hash"]
        )
    if problems:
        raise CiError(*problems)
    shared = normalise.variables(tree.get("variables"))
    defaults = _defaults(tree)
    jobs = [spec for name, job in visible.items() for spec in normalise.jobs_of(name, job, defaults, shared)]
    linked = _link_problems(jobs, set(visible), stages)
    if linked:
        raise CiError(*linked)
    workflow = subtree(tree.get("workflow"))
    return CiConfig(stages, shared, jobs, workflow.get("rules"), workflow.get("name"))


def _stages(value: Any) -> list[str]:
    if value is not None and not (is_list(value) and all(isinstance(item, str) for item in value)):
        raise CiError("stages config should be an array of strings")
    middle = [stage for stage in (value or DEFAULT_STAGES) if stage not in {".pre", ".post"}]
    return [".pre", *middle, ".post"]


def _global_problems(tree: Tree, visible: Tree) -> list[str]:
    problems = [] if visible else ["jobs config should contain at least one visible job"]
    if not is_tree(tree.get("default", {})):
        return [*problems, "default config should be a hash"]
    default = subtree(tree.get("default"))
    unknown = sorted(set(default) - keywords.DEFAULTS)
    if unknown:
        problems.append(f"default config contains unknown keys: {', '.join(unknown)}")
    for place, part in (("default:", default), ("", tree)):
        for key, test in keywords.CHECKS.items():
            if key in keywords.DEFAULTS | {"variables"} and part.get(key) is not None:
                problems += [f"{place}{key} {text}" for text in test(part[key])]
    return problems + _workflow_problems(tree.get("workflow"))


def _workflow_problems(workflow: Any) -> list[str]:
    if workflow is None:
        return []
    if not is_tree(workflow):
        return ["workflow config should be a hash"]
    unknown = sorted(set(workflow) - {"rules", "name", "auto_cancel"})
    problems = [f"workflow config contains unknown keys: {', '.join(unknown)}"] if unknown else []
    return problems + [
        f"workflow:rules:rule {text}"
        for rule in as_list(workflow.get("rules"))
        for text in keywords.rule_problems(rule)
    ]


def _defaults(tree: Tree) -> Tree:
    old = {key: tree[key] for key in keywords.DEFAULTS & set(tree)}
    return old | (tree.get("default") or {})


def _link_problems(jobs: list[JobSpec], names: set[str], stages: list[str]) -> list[str]:
    problems: list[str] = []
    known = names | {job.name for job in jobs}
    for job in jobs:
        if job.stage not in stages:
            problems.append(
                f"{job.name} job: chosen stage {job.stage} does not exist; "
                f"available stages are {', '.join(stages)}"
            )
        problems += [
            f"{job.name} job: undefined need: {need.job}" for need in job.needs or [] if need.job not in known
        ]
        problems += [
            f"{job.name} job: undefined dependency: {name}"
            for name in job.dependencies or []
            if name not in known
        ]
    return problems or _cycle_problems(jobs)


def _cycle_problems(jobs: list[JobSpec]) -> list[str]:
    open_needs = {
        job.name: {need.job for need in job.needs or []} & {other.name for other in jobs} for job in jobs
    }
    while free := [name for name, needs in open_needs.items() if not needs]:
        for name in free:
            del open_needs[name]
        for needs in open_needs.values():
            needs.difference_update(free)
    return [f"The pipeline has circular dependencies: {', '.join(sorted(open_needs))}"] if open_needs else []
