"""The expressions of `rules:if`: variables, strings, patterns, comparisons, and, or, parentheses."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

TOKEN = re.compile(
    r"""\s*(?:
    (?P<var>\$\w+|\$\{\w+\}) | (?P<str>"[^"]*"|'[^']*') | (?P<null>null\b) |
    (?P<re>/(?:\\.|[^/\\])*/[ismU]*) | (?P<op>==|!=|=~|!~|&&|\|\||\(|\))
    )""",
    re.VERBOSE,
)
COMPARISONS = ("==", "!=", "=~", "!~")
FLAGS = {"i": re.IGNORECASE, "s": re.DOTALL, "m": re.MULTILINE, "U": re.NOFLAG}


class ExpressionError(ValueError):
    """An expression that can't be read."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression between slashes."""

    regex: re.Pattern[str]


Value = str | Pattern | bool | None


def evaluate(text: str, variables: Mapping[str, str]) -> bool:
    """Whether an expression holds with these variables."""
    parser = _Parser(_tokens(text), variables)
    value = parser.either()
    if parser.rest:
        raise ExpressionError(f"unexpected {parser.rest[0][1]!r} in {text!r}")
    return truthy(value)


def check(text: str) -> None:
    """Raise `ExpressionError` when the text is no expression."""
    evaluate(text, {})


def truthy(value: Value) -> bool:
    """Strings are true when not empty, patterns always, null never."""
    return bool(value)


def pattern(text: str) -> re.Pattern[str]:
    """Compile `/text/flags`."""
    body, flags = text[1:].rsplit("/", 1)
    bits = re.NOFLAG
    for flag in flags:
        bits |= FLAGS[flag]
    try:
        return re.compile(body.replace("\\/", "/"), bits)
    except re.error as error:
        raise ExpressionError(f"invalid regular expression {text}: {error}") from None


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    position = 0
    while text[position:].strip():
        match = TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise ExpressionError(f"unknown word at {text[position:].strip()!r}")
        found.append((match.lastgroup, match.group(match.lastgroup)))
        position = match.end()
    return found


class _Parser:
    """Recursive descent: `||` binds weaker than `&&`, comparisons bind strongest."""

    def __init__(self, tokens: list[tuple[str, str]], variables: Mapping[str, str]) -> None:
        self.rest = tokens
        self.variables = variables

    def either(self) -> Value:
        value = self.both()
        while self._take("||"):
            right = self.both()
            value = value if truthy(value) else right
        return value

    def both(self) -> Value:
        value = self.comparison()
        while self._take("&&"):
            right = self.comparison()
            value = right if truthy(value) else value
        return value

    def comparison(self) -> Value:
        left = self.operand()
        if self.rest and self.rest[0][1] in COMPARISONS:
            operator = self.rest.pop(0)[1]
            return _compare(operator, left, self.operand())
        return left

    def operand(self) -> Value:
        if not self.rest:
            raise ExpressionError("the expression ends too early")
        kind, text = self.rest.pop(0)
        if text == "(":
            value = self.either()
            if not self._take(")"):
                raise ExpressionError("a parenthesis is not closed")
            return value
        return self._literal(kind, text)

    def _literal(self, kind: str, text: str) -> Value:
        if kind == "var":
            return self.variables.get(text.strip("${}"))
        if kind == "str":
            return text[1:-1]
        if kind == "re":
            return Pattern(pattern(text))
        if kind == "null":
            return None
        raise ExpressionError(f"unexpected {text!r}")

    def _take(self, operator: str) -> bool:
        if self.rest and self.rest[0] == ("op", operator):
            self.rest.pop(0)
            return True
        return False


def _compare(operator: str, left: Value, right: Value) -> bool:
    if operator in {"==", "!="}:
        return (left == right) is (operator == "==")
    return _matches(left, right) is (operator == "=~")


def _matches(left: Value, right: Value) -> bool:
    if isinstance(right, str):
        right = Pattern(pattern(right)) if re.fullmatch(r"/.*/[ismU]*", right, re.DOTALL) else None
    if not isinstance(right, Pattern) or not isinstance(left, str):
        return False
    return right.regex.search(left) is not None
