"""The comment: what a reviewer must know, most important first."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from preview import money
from preview.digest import Preview
from preview.markdown import code, details, fenced, fitted, plain, table
from preview.nouns import counted
from preview.policies import Policies
from preview.quota import Room
from preview.resources import Action, Change
from shadow_gpu_runners.cost import Estimate

_PER_GROUP: Final = 10
_ERROR_CHARS: Final = 6_000
_STOP, _NOTE = "\u26d4", "\u2139"
_VERBS: Final[dict[Action, tuple[str, str]]] = {
    "replace": ("replaced", "🔁"),
    "delete": ("destroyed", "🗑"),
    "update": ("changed", "✏"),
    "create": ("created", "\u2795"),
    "import": ("imported", "📥"),
}


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that the comment tells."""

    stack: str
    preview: Preview
    changes: Sequence[Change]
    policies: Policies
    cost: Estimate | None = None
    quota: Sequence[Room] | None = None
    exit_code: int = 0
    """Exit code of `pulumi preview`."""
    footer: str = ""

    @property
    def failed(self) -> bool:
        """Whether the preview itself failed (a broken policy alone is no failure)."""
        unexplained = self.exit_code != 0 and not self.policies.violated
        return bool(self.errors) or unexplained or (self.preview.failed and not self.policies.violated)

    @property
    def errors(self) -> list[str]:
        """Errors worth showing."""
        return [
            error for error in self.preview.errors if error.strip() not in {"preview failed", "update failed"}
        ]


def comment(report: Report, limit: int) -> str:
    """The comment's text, at most `limit` characters; what matters least is left out first."""
    parts: list[tuple[int, str]] = [
        (9, f"### {_title(report)}"),
        (8, _failure(report)),
        (7, "" if report.failed and not report.policies.violated else _policies(report.policies)),
        (6, _warnings(report)),
        (6, money.headline(report.cost) if report.cost and not report.failed else ""),
        (5, money.section(report.cost) if report.cost and not report.failed else ""),
        *[(5 if action in {"replace", "delete"} else 3, _group(action, report.changes)) for action in _VERBS],
        (4, _quota(report.quota)),
        (2, _unchecked(report.policies)),
        (1, money.breakdown(report.cost) if report.cost and not report.failed else ""),
        (5, f"<sub>{report.footer}</sub>" if report.footer else ""),
    ]
    return fitted(parts, limit)


def _title(report: Report) -> str:
    name = code(report.stack)
    if report.failed:
        return f"❌ The preview of {name} failed"
    totals = [f"{sum(c.action == a for c in report.changes)} {verb}" for a, (verb, _) in _VERBS.items()]
    told = ", ".join(total for total in totals if not total.startswith("0 "))
    mark = "⛔" if report.policies.violated else "⚠" if _risky(report.changes) else "✅"
    return f"{mark} Preview of {name}: {told or 'nothing changes'}"


def _risky(changes: Iterable[Change]) -> bool:
    return any(change.action in {"replace", "delete"} for change in changes)


def _failure(report: Report) -> str:
    if not report.failed:
        return ""
    if not report.errors:
        return (
            f"`pulumi preview` ended with exit code {report.exit_code} and named no error. "
            "With `--json` alone it hides the results of policy packs: set "
            "`PULUMI_ENABLE_STREAMING_JSON_PREVIEW=true`, or see the job's log."
        )
    text = "\n\n".join(report.errors)
    rest = len(text) - _ERROR_CHARS
    cut = f"\n... ({rest} characters more in the job's log)" if rest > 0 else ""
    return f"{fenced(text[:_ERROR_CHARS] + cut)}\nNothing was created or changed."


def _policies(policies: Policies) -> str:
    found = [finding for finding in policies.findings if finding.checked]
    if not found:
        return f"**Policies**: all kept ({policies.source})." if policies.source else ""
    blocking = sum(finding.blocking for finding in found)
    told = [counted(blocking, "violation")] if blocking else []
    told += [counted(len(found) - blocking, "remark")] if len(found) > blocking else []
    alike: defaultdict[tuple[bool, str, str], list[str]] = defaultdict(list)
    for finding in found:
        alike[finding.blocking, finding.rule, finding.message].append(finding.resource)
    rows = [_policy_row(*key, names) for key, names in sorted(alike.items(), key=lambda item: not item[0][0])]
    rest = len(rows) - 2 * _PER_GROUP
    more = f"\n\n... and {rest} more." if rest > 0 else ""
    shown = table(["", "rule", "resource", "finding"], rows[: 2 * _PER_GROUP])
    return f"**Policies**: {', '.join(told)}.\n\n{shown}{more}"


def _policy_row(blocking: bool, rule: str, message: str, names: Sequence[str]) -> list[str]:
    where = _some([code(name) for name in names if name]) or "the stack"
    return [_STOP if blocking else _NOTE, rule, where, plain(message)]


def _unchecked(policies: Policies) -> str:
    by_reason: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for finding in policies.findings:
        if not finding.checked:
            by_reason[finding.rule, finding.message].append(code(finding.resource))
    if not by_reason:
        return ""
    lines = [f"- {rule}, {_some(names)}: {plain(message)}" for (rule, message), names in by_reason.items()]
    number = sum(len(names) for names in by_reason.values())
    return details(f"Policies that could not decide yet ({number})", "\n".join(lines))


def _warnings(report: Report) -> str:
    guarded = [change for change in report.changes if change.protected]
    ended = [c for c in report.changes if c.action in {"replace", "delete"} and c.noun.endswith("instance")]
    lines = [
        f"> 🔒 {code(change.name)} is protected and would be {_VERBS[change.action][0]}: "
        "`pulumi up` will refuse. Lift `protect` in a change of its own if this is meant."
        for change in guarded
    ]
    if ended:
        lines.append(f"> ⚠ Jobs that run on {_some([code(c.name) for c in ended])} end when this is applied.")
    return "\n".join(lines)


def _group(action: Action, changes: Sequence[Change]) -> str:
    mine = [change for change in changes if change.action == action]
    if not mine:
        return ""
    verb, sign = _VERBS[action]
    groups: defaultdict[tuple[str, tuple[str, ...]], list[Change]] = defaultdict(list)
    for change in mine:
        groups[change.noun, tuple(_why(change))].append(change)
    lines = [_line(noun, why, found, verb) for (noun, why), found in groups.items()]
    shown = lines if action in {"replace", "delete"} else lines[: 2 * _PER_GROUP]
    more = [f"- … and {len(lines) - len(shown)} more kinds"] if len(lines) > len(shown) else []
    return "\n".join([f"**{sign} {counted(len(mine), 'resource')} will be {verb}**", "", *shown, *more])


def _line(noun: str, why: tuple[str, ...], found: Sequence[Change], verb: str) -> str:
    names = _some([code(change.name) for change in found])
    be = "is" if len(found) == 1 else "are"
    because = (
        f" because {' and '.join(why)}"
        if why and verb == "replaced"
        else f": {', '.join(why)}"
        if why
        else ""
    )
    return f"- {counted(len(found), noun)} {be} {verb}{because} ({names})"


def _why(change: Change) -> list[str]:
    reasons = (
        [r for r in change.reasons if r.replaces] if change.action == "replace" else list(change.reasons)
    )
    said = [
        f"{r.words} {code(r.before)} becomes {code(r.after)}" if r.after else f"{r.words} changes"
        for r in reasons or change.reasons
    ]
    if change.kept:
        said.append("the object itself stays in the cloud")
    return list(dict.fromkeys(said))


def _some(names: Sequence[str]) -> str:
    names = sorted(names)
    shown = ", ".join(names[:_PER_GROUP])
    return f"{shown} and {len(names) - _PER_GROUP} more" if len(names) > _PER_GROUP else shown


def _quota(rooms: Sequence[Room] | None) -> str:
    if rooms is None:
        return ""
    over = [room for room in rooms if not room.fits]
    if not over:
        used = ", ".join(f"{room.needed} of {room.room} {room.resource}" for room in rooms)
        return f"**Quota**: fits ({used})." if used else ""
    rows = [[room.resource, str(room.needed), str(room.room)] for room in over]
    return f"**Quota**: ⛔ does not fit.\n\n{table(['resource', 'needed', 'room'], rows, numbers=2)}"
