"""Which keywords a CI file may hold, and the checks of their forms."""

from collections.abc import Callable
from typing import Any

from localcloud.gitlab.ci.durations import seconds
from localcloud.gitlab.ci.expression import ExpressionError, check
from localcloud.gitlab.shapes import Tree, is_list, is_tree

GLOBALS = {
    "default",
    "stages",
    "variables",
    "workflow",
    "image",
    "services",
    "cache",
    "before_script",
    "after_script",
}
DEFAULTS = {
    "after_script", "artifacts", "before_script", "cache", "hooks", "image", "interruptible", "retry",
    "services", "tags",
    "timeout",
}  # fmt: skip
JOB_KEYS = DEFAULTS | {
    "script", "stage", "needs", "dependencies", "rules", "only", "except", "variables", "allow_failure",
    "when", "parallel",
    "environment", "coverage", "inherit", "extends",
}  # fmt: skip
UNSUPPORTED = {
    "trigger", "release", "secrets", "id_tokens", "resource_group", "start_in", "pages", "publish",
    "identity", "run",
    "dast_configuration", "manual_confirmation", "inputs", "hooks",
}  # fmt: skip
WHEN = ("on_success", "on_failure", "always", "manual", "delayed", "never")
RETRY_WHEN = (
    "always", "unknown_failure", "script_failure", "api_failure", "stuck_or_timeout_failure",
    "runner_system_failure",
    "runner_unsupported", "stale_schedule", "job_execution_timeout", "archived_failure",
    "unmet_prerequisites",
    "scheduler_failure", "data_integrity_failure", "runner_interrupted",
)  # fmt: skip


def flat_strings(value: Any, depth: int = 0) -> list[str] | None:
    """A string or nested lists of strings as one list; None when it is neither."""
    if isinstance(value, str):
        return [value]
    if not is_list(value) or depth > 10:
        return None
    parts = [flat_strings(item, depth + 1) for item in value]
    return None if None in parts else [text for part in parts if part is not None for text in part]


def job_problems(name: str, job: Tree) -> list[str]:
    """Everything wrong with one job's own keywords, in GitLab's words."""
    place = f"jobs:{name}"
    problems = [
        f"{place} config: keyword `{key}` is not supported by this server"
        for key in sorted(set(job) & UNSUPPORTED)
    ]
    unknown = sorted(set(job) - JOB_KEYS - UNSUPPORTED)
    if unknown:
        problems.append(f"{place} config contains unknown keys: {', '.join(unknown)}")
    if "script" not in job and not set(job) & UNSUPPORTED:
        problems.append(f"{place} config should implement the script:, run:, or trigger: keyword")
    for key, test in CHECKS.items():
        if job.get(key) is not None:
            problems += [f"{place}:{key} {text}" for text in test(job[key])]
    if "rules" in job and {"only", "except"} & set(job):
        problems.append(f"{place} config key may not be used with `rules`: only, except")
    return problems


def _script(value: Any) -> list[str]:
    if flat_strings(value) is None:
        return ["config should be a string or a nested array of strings up to 10 levels deep"]
    return [] if value else ["config can't be blank"]


def _hook_script(value: Any) -> list[str]:
    wrong = flat_strings(value) is None
    return ["config should be a string or a nested array of strings up to 10 levels deep"] if wrong else []


def _strings(value: Any) -> list[str]:
    good = is_list(value) and all(isinstance(item, str) for item in value)
    return [] if good else ["config should be an array of strings"]


def _image(value: Any) -> list[str]:
    if isinstance(value, str) and value:
        return []
    if not is_tree(value) or not isinstance(value.get("name"), str):
        return ["config should be a hash or a string, with a name"]
    unknown = sorted(set(value) - {"name", "entrypoint", "pull_policy", "docker", "kubernetes", "ports"})
    return [f"config contains unknown keys: {', '.join(unknown)}"] if unknown else []


def _services(value: Any) -> list[str]:
    good = is_list(value) and all(
        isinstance(item, str) or (is_tree(item) and "name" in item) for item in value
    )
    return [] if good else ["config should be an array of strings or hashes with a name"]


def _when(value: Any) -> list[str]:
    if value == "delayed":
        return ["config: `delayed` is not supported by this server"]
    return [] if value in WHEN else [f"config should be one of: {', '.join(WHEN[:-1])}"]


def _variables(value: Any) -> list[str]:
    good = is_tree(value) and all(not is_list(item) for item in value.values())
    return [] if good else ["config should be a hash of key value pairs, value can be a hash"]


def _timeout(value: Any) -> list[str]:
    number = seconds(value)
    return (
        ["config should be a duration"]
        if number is None
        else []
        if number > 0
        else ["config should be positive"]
    )


def _retry(value: Any) -> list[str]:
    tree = value if is_tree(value) else {"max": value}
    problems: list[str] = []
    most = tree.get("max", 0)
    if not isinstance(most, int) or isinstance(most, bool):
        problems.append("config has to be either an integer or a hash")
    elif not 0 <= most <= 2:
        problems.append(
            "max must be less than or equal to 2" if most > 2 else "max must be greater than or equal to 0"
        )
    reasons = tree.get("when", [])
    unknown = [str(item) for item in (reasons if is_list(reasons) else [reasons]) if item not in RETRY_WHEN]
    return problems + ([f"when contains unknown values: {', '.join(unknown)}"] if unknown else [])


def _rules(value: Any) -> list[str]:
    if not is_list(value):
        return ["config should be a hash or an array of rules"]
    return [f"rule {text}" for item in value for text in rule_problems(item)]


def rule_problems(rule: Any) -> list[str]:
    """What is wrong with one entry of `rules`."""
    if not is_tree(rule):
        return ["config should be a hash"]
    unknown = sorted(
        set(rule)
        - {"if", "changes", "exists", "when", "allow_failure", "variables", "needs", "interruptible"}
    )
    problems = [f"config contains unknown keys: {', '.join(unknown)}"] if unknown else []
    if "when" in rule:
        problems += [f"when {text}" for text in _when(rule["when"])]
    if "if" in rule:
        try:
            check(str(rule["if"]))
        except ExpressionError as error:
            problems.append(f"if invalid expression syntax ({error})")
    return problems


def _parallel(value: Any) -> list[str]:
    if is_tree(value):
        matrix = value.get("matrix")
        return (
            []
            if is_list(matrix) and matrix and all(is_tree(item) for item in matrix)
            else ["matrix should be an array of hashes"]
        )
    good = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 200
    return [] if good else ["config should be an integer between 1 and 200, or a hash with `matrix`"]


def _needs(value: Any) -> list[str]:
    good = is_list(value) and all(
        isinstance(item, str) or (is_tree(item) and isinstance(item.get("job"), str)) for item in value
    )
    cross = is_list(value) and any(is_tree(item) and {"project", "pipeline"} & set(item) for item in value)
    if cross:
        return ["config: `needs:project` and `needs:pipeline` are not supported by this server"]
    return [] if good else ["config can only be a hash or an array of jobs"]


def _artifacts(value: Any) -> list[str]:
    known = {
        "name",
        "untracked",
        "paths",
        "exclude",
        "reports",
        "when",
        "expire_in",
        "expose_as",
        "public",
        "access",
    }
    if not is_tree(value):
        return ["config should be a hash"]
    unknown = sorted(set(value) - known)
    problems = [f"config contains unknown keys: {', '.join(unknown)}"] if unknown else []
    if "when" in value and value["when"] not in WHEN[:3]:
        problems.append("when should be one of: on_success, on_failure, always")
    return problems


CHECKS: dict[str, Callable[[Any], list[str]]] = {
    "script": _script, "before_script": _hook_script, "after_script": _hook_script, "tags": _strings,
    "image": _image,
    "services": _services, "when": _when, "variables": _variables, "timeout": _timeout, "retry": _retry,
    "rules": _rules,
    "parallel": _parallel, "needs": _needs, "artifacts": _artifacts,
}  # fmt: skip
