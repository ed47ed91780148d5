"""Loading CI files: YAML with `!reference`, local includes, and `extends`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

from localcloud.gitlab.shapes import Tree, as_list, is_list, is_tree

MAX_DEPTH = 10
ReadFile = Callable[[str], bytes | None]


class CiError(Exception):
    """A fault in a CI file; `problems` are complete sentences of GitLab's CI lint."""

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = list(problems)


@dataclass(frozen=True, slots=True)
class Reference:
    """A `!reference [a, b]` before it is resolved."""

    path: tuple[str, ...]


class _Loader(yaml.SafeLoader):
    pass


def _reference(loader: yaml.SafeLoader, node: yaml.Node) -> Reference:
    if not isinstance(node, yaml.SequenceNode):
        raise CiError("!reference must be a list of keys, e.g. !reference [.setup, script]")
    return Reference(tuple(str(part) for part in loader.construct_sequence(node)))


_Loader.add_constructor("!reference", _reference)


def load(text: bytes, read: ReadFile) -> Tree:
    """Load a CI file with its includes merged, references resolved and `extends` applied."""
    tree = _with_includes(parse(text, ".gitlab-ci.yml"), read, 0)
    tree = {key: _resolve(value, tree, 0) for key, value in tree.items()}
    return {key: _extended(key, tree, []) if is_tree(value) else value for key, value in tree.items()}


def parse(text: bytes, name: str) -> Tree:
    """Parse one YAML document that must be a mapping."""
    try:
        tree: object = yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader
    except yaml.YAMLError as error:
        raise CiError(f"({name}): {' '.join(str(error).split())}") from None
    if not is_tree(tree):
        raise CiError("Invalid configuration format")
    return {str(key): value for key, value in tree.items()}


def merge(below: Tree, above: Tree) -> Tree:
    """Deep merge of mappings; lists and scalars of `above` replace."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if is_tree(old) and is_tree(value) else value
    return merged


def _with_includes(tree: Tree, read: ReadFile, depth: int) -> Tree:
    if depth > MAX_DEPTH:
        raise CiError("Maximum of 150 nested includes are allowed!")
    below: Tree = {}
    for entry in as_list(tree.get("include")):
        path = _local_path(entry)
        content = read(path)
        if content is None:
            raise CiError(f"Local file `{path}` does not exist!")
        below = merge(below, _with_includes(parse(content, path), read, depth + 1))
    return merge(below, {key: value for key, value in tree.items() if key != "include"})


def _local_path(entry: Any) -> str:
    path = entry.get("local") if is_tree(entry) else entry
    if not isinstance(path, str) or path.startswith(("http://", "https://")):
        kinds = ", ".join(sorted(entry)) if is_tree(entry) else str(entry)
        raise CiError(f"include: `{kinds}` is not supported by this server; use `include: local`")
    return path.lstrip("/")


def _resolve(value: Any, tree: Tree, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise CiError("!reference is nested too deeply; at most 10 levels are allowed")
    if isinstance(value, Reference):
        return _resolve(_lookup(value, tree), tree, depth + 1)
    if is_tree(value):
        return {str(key): _resolve(item, tree, depth) for key, item in value.items()}
    if is_list(value):
        return _resolved_list(value, tree, depth)
    return value


def _resolved_list(items: list[Any], tree: Tree, depth: int) -> list[Any]:
    result: list[Any] = []
    for item in items:
        resolved = _resolve(item, tree, depth)
        result += resolved if isinstance(item, Reference) and is_list(resolved) else [resolved]
    return result


def _lookup(reference: Reference, tree: Tree) -> Any:
    value: Any = tree
    for part in reference.path:
        if not is_tree(value) or part not in value:
            quoted = '", "'.join(reference.path)
            raise CiError(f'!reference ["{quoted}"] could not be found')
        value = value[part]
    return value


def _extended(name: str, tree: Tree, chain: list[str]) -> Any:
    job = tree[name]
    if not is_tree(job) or "extends" not in job:
        return job
    if name in chain:
        raise CiError(f"{name}: circular dependency detected in `extends`")
    parents = [str(parent) for parent in as_list(job["extends"])]
    unknown = [parent for parent in parents if not is_tree(tree.get(parent))]
    if unknown:
        raise CiError(f"{name}: unknown keys in `extends` ({', '.join(unknown)})")
    merged: Tree = {}
    for parent in parents:
        merged = merge(merged, _extended(parent, tree, [*chain, name]))
    return merge(merged, {key: value for key, value in job.items() if key != "extends"})
