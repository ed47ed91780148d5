"""Composite actions: their steps are run in place of the step that uses them, in a scope of their own."""

from typing import Any

import yaml

from localcloud.github import accounts, git
from localcloud.github.expressions import Scope, as_text, interpolate
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc, as_doc, as_list


def plan(sim: Simulator, repo: Doc, sha: str, steps: list[Doc]) -> list[Doc]:
    """Each step to run as `{spec, use}`; `use` says which step and action it is a part of, if any."""
    planned: list[Doc] = []
    for place, step in enumerate(steps):
        action = _composite(sim, repo, sha, str(step.get("uses", "")))
        if action is None:
            planned.append({"spec": step, "use": None})
            continue
        inner = as_list(action["runs"].get("steps")) or []
        use: Doc = {"place": place, "step": step, "action": action}
        planned += [
            {"spec": spec, "use": {**use, "last": number == len(inner)}}
            for number, spec in enumerate(inner, 1)
        ]
    return planned


def _composite(sim: Simulator, repo: Doc, sha: str, uses: str) -> Doc | None:
    """The action's description, where it is composite and in a repository that this GitHub has."""
    name, _, reference = uses.partition("@")
    if uses.startswith("./"):
        made, folder = git.commit(sim, repo, sha), uses.removeprefix("./")
    else:
        owner, _, rest = name.partition("/")
        short, _, folder = rest.partition("/")
        found = accounts.repository(sim, owner, short)
        made = git.commit(sim, found, reference) if found and reference else None
    for file in ("action.yml", "action.yaml"):
        path = f"{folder}/{file}".lstrip("/")
        if made and path in made["tree"]:
            action = as_doc(yaml.safe_load(git.blob(sim, made["tree"][path])))
            return action if action and action["runs"].get("using") == "composite" else None
    return None


def scope(use: Doc, outer: Scope, steps: Doc, *, failed: bool) -> Scope:
    """What the action's own steps see: its inputs and each other, not the job's steps nor how those ended."""
    given, declared = as_doc(use["step"].get("with")) or {}, as_doc(use["action"].get("inputs")) or {}
    inputs = {
        name: as_text(interpolate(given.get(name, (as_doc(rule) or {}).get("default", "")), outer))
        for name, rule in declared.items()
    }
    return Scope({**outer.contexts, "inputs": inputs, "steps": steps}, failed, outer.cancelled)


def outputs(use: Doc, inner: Scope) -> Doc:
    """What the using step gives to later ones."""
    declared: dict[str, Any] = as_doc(use["action"].get("outputs")) or {}
    return {name: as_text(interpolate(rule["value"], inner)) for name, rule in declared.items()}
