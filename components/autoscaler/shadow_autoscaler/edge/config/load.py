"""Reads a configuration file and reports all of its faults at once."""

from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import yaml
from pydantic import BaseModel, ValidationError

from shadow_autoscaler.edge.config.checks import Parts, crossed, templates
from shadow_autoscaler.edge.config.faults import ConfigError, Fault, from_pydantic
from shadow_autoscaler.edge.config.model import Config, GitHub, GitLab, Secrets, Store
from shadow_autoscaler.edge.config.pools import Pool

_Model = TypeVar("_Model", bound=BaseModel)


class _Loader(yaml.SafeLoader):
    """Refuses a key given twice, of which YAML would silently keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key: object = self.construct_object(key_node, deep=True)  # pyright: ignore[reportUnknownMemberType]
            if not isinstance(key, Hashable):
                continue  # refused below, with its place
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"key {key!r} is given twice", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def load(file: Path, *, files: bool = True) -> Config:
    """Read `file`; `files` also checks the user-data templates that it names.

    Raises:
        ConfigError: The file is unusable; it lists every fault.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        fault = Fault("(file)", reason, "a readable YAML file", "give its path with --config")
        raise ConfigError(str(file), [fault]) from error
    return parse(text, source=str(file), folder=file.parent if files else None)


def parse(text: str, *, source: str = "configuration", folder: Path | None = None) -> Config:
    """Read a configuration from its text; templates are looked for in `folder`, or not at all."""
    raw = _document(text, source)
    config, faults = _validated(raw)
    parts = _parts(raw) if config is None else _parts_of(config)
    faults += list(crossed(parts))
    if folder is not None:
        faults += list(templates(parts.pools, folder))
    if faults or config is None:
        raise ConfigError(source, faults)
    return config


def _document(text: str, source: str) -> dict[str, Any]:
    try:
        raw = yaml.load(text, Loader=_Loader)  # noqa: S506 -- a SafeLoader
    except RecursionError as error:
        fault = Fault("(file)", "nested too deeply", "a YAML document", "see the reference for an example")
        raise ConfigError(source, [fault]) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark else "(file)"
        problem = getattr(error, "problem", None) or "unreadable"
        raise ConfigError(source, [Fault(where, problem, "a YAML document", "correct it")]) from error
    if not isinstance(raw, dict):
        fault = Fault(
            "(file)", f"got {type(raw).__name__}", "keys with values", "see the reference for an example"
        )
        raise ConfigError(source, [fault])
    return cast("dict[str, Any]", raw)


def _validated(raw: dict[str, Any]) -> tuple[Config | None, list[Fault]]:
    try:
        return Config.model_validate(raw), []
    except ValidationError as error:
        return None, [from_pydantic(details, Config) for details in error.errors(include_url=False)]


def _parts_of(config: Config) -> Parts:
    forges = {"github": config.github, "gitlab": config.gitlab}
    return Parts(
        present=frozenset(name for name, section in forges.items() if section is not None),
        pools=list(enumerate(config.pools)),
        github=config.github,
        gitlab=config.gitlab,
        store=config.store,
        secrets=config.secrets,
    )


def _parts(raw: dict[str, Any]) -> Parts:
    pools = raw.get("pools")
    entries: list[Any] = list(cast("Iterable[Any]", pools)) if isinstance(pools, list) else []
    return Parts(
        present=frozenset(name for name, value in raw.items() if value is not None),
        pools=list(_readable(entries)),
        github=_section(GitHub, raw.get("github")),
        gitlab=_section(GitLab, raw.get("gitlab")),
        store=_section(Store, raw.get("store")),
        secrets=_section(Secrets, raw.get("secrets")),
    )


def _readable(entries: list[Any]) -> Iterator[tuple[int, Pool]]:
    for index, entry in enumerate(entries):
        pool = _section(Pool, entry)
        if pool is not None:
            yield index, pool


def _section(model: type[_Model], raw: Any) -> _Model | None:
    try:
        return model.model_validate(raw)
    except ValidationError:
        return None
