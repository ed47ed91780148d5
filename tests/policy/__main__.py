"""The policy pack that Pulumi's engine runs: `pulumi preview --policy-pack tests/policy`."""

from collections.abc import Callable, Mapping
from typing import Any

from policy_model import UNKNOWN, Resource, Rule, StackRule, Unchecked, visible
from pulumi_policy import (
    EnforcementLevel,
    PolicyConfigSchema,
    PolicyPack,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import UnknownValueError
from rules import RULES, STACK_RULES

_ALLOW = {"allow": {"type": "array", "items": {"type": "string"}}}


def seen(value: Any) -> Any:
    """A property value as the rules want it: unknown parts marked instead of raising when they are read."""
    if isinstance(value, Mapping):
        return {key: _part(value, key) for key in value}
    if isinstance(value, str) or not hasattr(value, "__getitem__"):
        return visible(value)
    return [_part(value, index) for index in range(len(value))]


def _part(whole: Any, key: Any) -> Any:
    try:
        return seen(whole[key])
    except UnknownValueError:
        return UNKNOWN


def _resource(args: Any) -> Resource:
    return Resource(args.urn, args.resource_type, seen(args.props))


def _schema(rule: Rule | StackRule, *, allow: bool) -> PolicyConfigSchema:
    return PolicyConfigSchema(
        {**(_ALLOW if allow else {}), **{name: dict(kind) for name, kind in rule.options.items()}}
    )


def _one(rule: Rule) -> ResourceValidationPolicy:
    """The rule proper: what it cannot see must not block the first `up`, where the engine asks again."""

    def validate(args: ResourceValidationArgs, report: Callable[[str], None]) -> None:
        for answer in rule.check(_resource(args), args.get_config()):
            if not isinstance(answer, Unchecked):
                report(answer)

    level = EnforcementLevel(rule.level)
    return ResourceValidationPolicy(rule.name, rule.description, validate, level, _schema(rule, allow=True))


def _unchecked(rule: Rule) -> ResourceValidationPolicy:
    """Says, without blocking, where the rule could not decide."""

    def validate(args: ResourceValidationArgs, report: Callable[[str], None]) -> None:
        for answer in rule.check(_resource(args), args.get_config()):
            if isinstance(answer, Unchecked):
                report(str(answer))

    name, level = f"{rule.name}-unchecked", EnforcementLevel.ADVISORY
    about = f"Says where {rule.name} cannot decide yet."
    return ResourceValidationPolicy(name, about, validate, level, _schema(rule, allow=True))


def _all(rule: StackRule) -> StackValidationPolicy:
    def validate(args: StackValidationArgs, report: Callable[[str], None]) -> None:
        for answer in rule.check([_resource(found) for found in args.resources], args.get_config()):
            report(str(answer))

    level = EnforcementLevel(rule.level)
    return StackValidationPolicy(rule.name, rule.description, validate, level, _schema(rule, allow=False))


if __name__ == "__main__":
    PolicyPack(
        name="shadow-gpu-runners",
        enforcement_level=EnforcementLevel.ADVISORY,
        policies=[
            *(_one(rule) for rule in RULES),
            *(_unchecked(rule) for rule in RULES),
            *(_all(rule) for rule in STACK_RULES),
        ],
    )
