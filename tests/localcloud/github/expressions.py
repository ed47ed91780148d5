"""Workflow expressions: `${{ … }}` with contexts, operators and the documented functions."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from localcloud.github.store import as_doc, as_list

_EMBEDDED = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_TOKEN = re.compile(
    r"\s*(?:(?P<number>0x[0-9a-fA-F]+|-?\d+(?:\.\d+)?)|'(?P<text>(?:[^']|'')*)'"
    r"|(?P<name>[A-Za-z_][\w-]*)|(?P<op>&&|\|\||==|!=|<=|>=|[<>!().,\[\]*]))"
)
_LEVELS = (("||",), ("&&",), ("==", "!="), ("<", "<=", ">", ">="))
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}


class ExpressionError(ValueError):
    """An expression that cannot be read or evaluated."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression sees: contexts by name, and how the things before it ended."""

    contexts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    failed: bool = False
    cancelled: bool = False
    skipped: bool = False


def evaluate(text: str, scope: Scope) -> Any:
    """Value of one expression, without its `${{ }}`.

    Raises:
        ExpressionError: it cannot be read.
    """
    parser = _Parser(_tokens(text), scope)
    value = parser.level(0)
    parser.expect_end(text)
    return value


def interpolate(value: Any, scope: Scope) -> Any:
    """A copy of a YAML value with all expressions replaced; one that is the whole text keeps its type."""
    if isinstance(value, str):
        whole = _EMBEDDED.fullmatch(value.strip())
        if whole and "${{" not in whole[1]:
            return evaluate(whole[1], scope)
        return _EMBEDDED.sub(lambda match: as_text(evaluate(match[1], scope)), value)
    pairs, items = as_doc(value), as_list(value)
    if pairs is not None:
        return {key: interpolate(item, scope) for key, item in pairs.items()}
    return value if items is None else [interpolate(item, scope) for item in items]


def condition(value: Any, scope: Scope) -> bool:
    """Whether an `if:` holds; without a status function, `success()` is meant as well."""
    if value is None:
        return _success(scope)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    match = _EMBEDDED.fullmatch(text.strip())
    text = match[1] if match else text
    holds = truthy(evaluate(text, scope))
    if re.search(r"\b(success|failure|always|cancelled)\s*\(", text):
        return holds
    return holds and _success(scope)


def truthy(value: Any) -> bool:
    """GitHub's truth: false, 0, -0, empty text and null are false."""
    return value not in (False, 0, "", None)


def as_text(value: Any) -> str:
    """A value inside a text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value) if isinstance(value, dict | list) else str(value)


def _success(scope: Scope) -> bool:
    return not (scope.failed or scope.cancelled or scope.skipped)


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    place = 0
    while place < len(text.rstrip()):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ExpressionError(f"Unexpected symbol at {text[place:].strip()[:20]!r} in {text.strip()!r}")
        kind = str(match.lastgroup)
        found.append((kind, match[kind]))
        place = match.end()
    return found


class _Parser:
    """Recursive descent over the tokens; evaluates while it reads."""

    def __init__(self, tokens: list[tuple[str, str]], scope: Scope) -> None:
        self._tokens = tokens
        self._scope = scope
        self._place = 0

    def expect_end(self, text: str) -> None:
        if self._place < len(self._tokens):
            raise ExpressionError(f"Unexpected {self._tokens[self._place][1]!r} in {text.strip()!r}")

    def level(self, depth: int) -> Any:
        if depth == len(_LEVELS):
            return self._unary()
        value = self.level(depth + 1)
        while (operator := self._next_op(_LEVELS[depth])) is not None:
            value = _binary(operator, value, self.level(depth + 1))
        return value

    def _unary(self) -> Any:
        if self._next_op(("!",)):
            return not truthy(self._unary())
        return self._postfix(self._primary())

    def _primary(self) -> Any:
        kind, text = self._take()
        if kind == "number":
            return int(text, 16) if text.startswith("0x") else float(text) if "." in text else int(text)
        if kind == "text":
            return text.replace("''", "'")
        if kind == "name":
            return self._named(text)
        if text == "(":
            value = self.level(0)
            self._require(")")
            return value
        raise ExpressionError(f"Unexpected {text!r}")

    def _named(self, name: str) -> Any:
        if self._next_op(("(",)):
            return _call(name, self._arguments(), self._scope)
        if name.lower() in _WORDS:
            return _WORDS[name.lower()]
        return self._scope.contexts.get(name.lower())

    def _arguments(self) -> list[Any]:
        values: list[Any] = []
        while not self._next_op((")",)):
            values.append(self.level(0))
            if not self._next_op((",",)):
                self._require(")")
                break
        return values

    def _postfix(self, value: Any) -> Any:
        while operator := self._next_op((".", "[")):
            if operator == "[":
                value = _member(value, self.level(0))
                self._require("]")
            else:
                value = self._dotted(value)
        return value

    def _dotted(self, value: Any) -> Any:
        kind, text = self._take()
        if text == "*":
            pairs = as_doc(value)
            return list(pairs.values()) if pairs is not None else as_list(value)
        if kind != "name":
            raise ExpressionError(f"Unexpected {text!r} after a dot")
        return _member(value, text)

    def _take(self) -> tuple[str, str]:
        if self._place >= len(self._tokens):
            raise ExpressionError("Unexpected end of expression")
        self._place += 1
        return self._tokens[self._place - 1]

    def _next_op(self, wanted: tuple[str, ...]) -> str | None:
        if self._place < len(self._tokens):
            kind, text = self._tokens[self._place]
            if kind == "op" and text in wanted:
                self._place += 1
                return text
        return None

    def _require(self, operator: str) -> None:
        if not self._next_op((operator,)):
            raise ExpressionError(f"Expected {operator!r}")


def _member(value: Any, name: Any) -> Any:
    pairs, items = as_doc(value), as_list(value)
    if pairs is not None:
        wanted = str(name).lower()
        return next((item for key, item in pairs.items() if str(key).lower() == wanted), None)
    if items is not None and isinstance(name, int):
        return items[name] if 0 <= name < len(items) else None
    if items is not None:
        return [_member(item, name) for item in items]
    return None


def _binary(operator: str, left: Any, right: Any) -> Any:
    if operator == "&&":
        return right if truthy(left) else left
    if operator == "||":
        return left if truthy(left) else right
    if operator in ("==", "!="):
        return _equal(left, right) == (operator == "==")
    one, other = _number(left), _number(right)
    return {"<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other}[operator]


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        return left.lower() == right.lower()
    if type(left) is type(right):
        return bool(left == right)
    return _number(left) == _number(right)


def _number(value: Any) -> float:
    try:
        return 0.0 if value in (None, "") else float(value)
    except (TypeError, ValueError):
        return float("nan")


def _call(name: str, values: list[Any], scope: Scope) -> Any:
    status = {
        "success": _success(scope),
        "failure": scope.failed and not scope.cancelled,
        "cancelled": scope.cancelled,
        "always": True,
    }
    if name.lower() in status:
        return status[name.lower()]
    function = _FUNCTIONS.get(name.lower())
    if function is None:
        raise ExpressionError(f"Unrecognized function: {name!r}")
    try:
        return function(*values)
    except (TypeError, ValueError, IndexError) as error:
        raise ExpressionError(f"Wrong arguments of {name}: {error}") from error


def _contains(where: Any, what: Any) -> bool:
    items = as_list(where)
    if items is not None:
        return any(_equal(item, what) for item in items)
    return as_text(what).lower() in as_text(where).lower()


def _format(text: str, *values: Any) -> str:
    filled = re.sub(r"\{(\d+)\}", lambda match: as_text(values[int(match[1])]), text.replace("{{", "\0"))
    return filled.replace("\0", "{").replace("}}", "}")


def _join(items: Any, separator: str = ",") -> str:
    return separator.join(as_text(item) for item in (as_list(items) or [items]))


def _starts_with(text: Any, start: Any) -> bool:
    return as_text(text).lower().startswith(as_text(start).lower())


def _ends_with(text: Any, end: Any) -> bool:
    return as_text(text).lower().endswith(as_text(end).lower())


def _to_json(value: Any) -> str:
    return json.dumps(value, indent=2)


def _hash_files(*_patterns: Any) -> str:
    return ""


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "contains": _contains,
    "startswith": _starts_with,
    "endswith": _ends_with,
    "format": _format,
    "join": _join,
    "tojson": _to_json,
    "fromjson": json.loads,
    "hashfiles": _hash_files,
}
