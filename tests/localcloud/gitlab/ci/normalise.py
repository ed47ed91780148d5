"""From a checked mapping to `JobSpec`, with matrix and `parallel` jobs spread out."""

from dataclasses import replace
from itertools import product
from typing import Any

from localcloud.gitlab.ci.durations import seconds
from localcloud.gitlab.ci.keywords import flat_strings
from localcloud.gitlab.ci.spec import JobSpec, Need, Variable
from localcloud.gitlab.shapes import Tree, as_list, is_list, is_tree


def jobs_of(name: str, job: Tree, defaults: Tree, shared: dict[str, Variable]) -> list[JobSpec]:
    """The job, or its copies when `parallel` is set; keywords missing in it come from `defaults`."""
    full = _inherited(job.get("inherit"), defaults) | job
    base = _job(name, full, _inherited_variables(job.get("inherit"), shared))
    parallel = job.get("parallel")
    if isinstance(parallel, int):
        return [
            replace(base, name=f"{name} {index}/{parallel}", node_index=index, node_total=parallel)
            for index in range(1, parallel + 1)
        ]
    return _matrix(base, parallel["matrix"]) if is_tree(parallel) else [base]


def variables(value: Any) -> dict[str, Variable]:
    """A `variables` mapping; the long form may carry `expand: false`."""
    found: dict[str, Variable] = {}
    for key, item in (value if is_tree(value) else {}).items():
        long = is_tree(item)
        text = item.get("value", "") if long else item
        raw = long and item.get("expand") is False
        found[str(key)] = Variable(str(key), _text(text), raw=raw)
    return found


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _inherited(inherit: Any, defaults: Tree) -> Tree:
    wish = inherit.get("default", True) if is_tree(inherit) else True
    if wish is True:
        return defaults
    return {key: value for key, value in defaults.items() if is_list(wish) and key in wish}


def _inherited_variables(inherit: Any, shared: dict[str, Variable]) -> dict[str, Variable]:
    wish = inherit.get("variables", True) if is_tree(inherit) else True
    if wish is True:
        return shared
    return {key: value for key, value in shared.items() if is_list(wish) and key in wish}


def _job(name: str, job: Tree, shared: dict[str, Variable]) -> JobSpec:
    retry = job.get("retry", 0)
    retry = retry if is_tree(retry) else {"max": retry}
    allow = job.get("allow_failure")
    when = str(job.get("when", "on_success"))
    needs = job.get("needs")
    return JobSpec(
        name=name,
        stage=str(job.get("stage", "test")),
        script=flat_strings(job["script"]) or [],
        before_script=flat_strings(job.get("before_script", [])) or [],
        after_script=flat_strings(job.get("after_script", [])) or [],
        image=image(job.get("image")),
        services=[service for item in as_list(job.get("services")) if (service := image(item))],
        tags=[str(tag) for tag in job.get("tags", [])],
        variables=shared | variables(job.get("variables")),
        needs=None if needs is None else [_need(item) for item in needs],
        dependencies=None if job.get("dependencies") is None else [str(item) for item in job["dependencies"]],
        artifacts=dict(job.get("artifacts") or {}),
        cache=[dict(item) for item in as_list(job.get("cache")) if is_tree(item)],
        rules=job.get("rules"),
        only=_policy(job.get("only")),
        except_=_policy(job.get("except")),
        when=when,
        allow_failure=allow
        if isinstance(allow, bool)
        else when == "manual" and "rules" not in job and allow is None,
        allow_exit_codes=[int(code) for code in as_list(allow.get("exit_codes"))] if is_tree(allow) else [],
        retry_max=int(retry.get("max", 0)),
        retry_when=[str(item) for item in as_list(retry.get("when"))] or ["always"],
        retry_exit_codes=[int(code) for code in as_list(retry.get("exit_codes"))],
        timeout_s=seconds(job["timeout"]) if job.get("timeout") else None,
        environment=_environment(job.get("environment")),
        interruptible=bool(job.get("interruptible", False)),
        coverage=job.get("coverage"),
    )


def image(value: Any) -> dict[str, Any] | None:
    """An image or service in its long form."""
    if not value:
        return None
    tree: Tree = dict(value) if is_tree(value) else {"name": str(value)}
    if "pull_policy" in tree:
        tree["pull_policy"] = as_list(tree["pull_policy"])
    for key in ("entrypoint", "command"):
        if isinstance(tree.get(key), str):
            tree[key] = [tree[key]]
    return tree


def _need(item: Any) -> Need:
    if is_tree(item):
        return Need(str(item["job"]), bool(item.get("artifacts", True)), bool(item.get("optional", False)))
    return Need(str(item))


def _policy(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    return dict(value) if is_tree(value) else {"refs": as_list(value)}


def _environment(value: Any) -> dict[str, Any] | None:
    if not value:
        return None
    return dict(value) if is_tree(value) else {"name": str(value), "action": "start"}


def _matrix(base: JobSpec, entries: list[Tree]) -> list[JobSpec]:
    rows: list[dict[str, str]] = []
    for entry in entries:
        keys = [str(key) for key in entry]
        rows += [
            dict(zip(keys, values, strict=True))
            for values in product(*(_values(item) for item in entry.values()))
        ]
    return [
        replace(
            base,
            name=f"{base.name}: [{', '.join(row.values())}]",
            variables=base.variables | variables(row),
            node_index=index,
            node_total=len(rows),
        )
        for index, row in enumerate(rows, 1)
    ]


def _values(item: Any) -> list[str]:
    return [_text(value) for value in as_list(item)]
