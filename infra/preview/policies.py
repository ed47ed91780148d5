"""Findings of the policy rules: from the engine where it reports them, else from the same rules run here."""

import importlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from preview.digest import Preview
from preview.errors import InputError
from shadow_gpu_runners.urns import name_of

_LEVELS: Final = ("mandatory", "advisory", "remediate", "disabled")


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule's finding on a resource."""

    rule: str
    resource: str
    """Logical name; empty for the stack as a whole."""
    message: str
    blocking: bool
    checked: bool = True


@dataclass(frozen=True, slots=True)
class Policies:
    """What the policies say."""

    findings: tuple[Finding, ...]
    source: str
    """Who ran the rules, for the reader; empty when nobody did."""

    @property
    def violated(self) -> bool:
        """Whether a mandatory rule is broken."""
        return any(finding.blocking for finding in self.findings)


def findings(preview: Preview, pack: Path | None, config: Mapping[str, Any]) -> Policies:
    """The engine's results, or those of the rules in `pack` over the resources that the preview lists."""
    if preview.policies_ran:
        return Policies(tuple(_from_engine(preview)), "policy pack, run by the engine")
    if pack is None:
        return Policies((), "")
    return Policies(
        tuple(_from_rules(preview, pack, config)), "rules of the policy pack, run on the preview's JSON"
    )


def load_config(file: Path | None) -> Mapping[str, Any]:
    """Read a file of the form that `--policy-pack-config` takes."""
    if file is None:
        return {}
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"--policy-config {file}: {error}; expected JSON as for `--policy-pack-config`"
        ) from None
    if not isinstance(found, dict):
        raise InputError(
            f"--policy-config {file}: expected an object of rules, found a {type(found).__name__}"
        )
    config = cast("dict[str, Any]", found)
    if wrong := [name for name, value in config.items() if _level(value) not in _LEVELS]:
        raise InputError(
            f"--policy-config {file}: {', '.join(wrong)}: expected a level or an object whose"
            f" enforcementLevel is one of {', '.join(_LEVELS)}; correct it"
        )
    return config


def _level(value: object) -> object:
    if isinstance(value, Mapping):
        return cast("Mapping[str, object]", value).get("enforcementLevel", _LEVELS[0])
    return value


def _from_engine(preview: Preview) -> list[Finding]:
    return [
        Finding(
            rule=result.policy.removesuffix("-unchecked"),
            resource="" if "::pulumi:pulumi:Stack::" in result.urn else name_of(result.urn),
            message=result.message,
            blocking=result.level == "mandatory",
            checked=not result.policy.endswith("-unchecked"),
        )
        for result in preview.policies
    ]


def _from_rules(preview: Preview, pack: Path, config: Mapping[str, Any]) -> list[Finding]:
    if not (pack / "rules.py").is_file():
        raise InputError(f"--policies {pack}: no rules.py there; expected the policy pack's folder")
    sys.path.insert(0, str(pack.resolve()))
    try:
        return _ran(preview, config)
    except Exception as error:  # a pack is code of its user's, and may fail in any way
        raise InputError(
            f"--policies {pack}: its rules failed: {type(error).__name__}: {error}; check the pack and"
            " the options in --policy-config"
        ) from error


def _ran(preview: Preview, config: Mapping[str, Any]) -> list[Finding]:
    model, rules = importlib.import_module("policy_model"), importlib.import_module("rules")
    resources = [
        model.Resource(str(step["urn"]), str(state.get("type")), model.visible(state.get("inputs") or {}))
        for step in preview.steps
        if step.get("op") not in {"delete", "delete-replaced", "discard"} and (state := step.get("newState"))
    ]
    by_urn = {resource.urn: resource for resource in resources}
    return [
        Finding(
            rule=found.rule,
            resource=name_of(found.urn),
            message=found.message,
            blocking=found.checked and found.level == "mandatory",
            checked=found.checked,
        )
        for found in rules.check(list(by_urn.values()), config)
    ]
