"""Workflow expressions."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcloud.github.expressions import ExpressionError, Scope, condition, evaluate, interpolate

CONTEXTS: dict[str, Any] = {
    "github": {"ref": "refs/heads/main", "event": {"number": 7}},
    "matrix": {"size": 2, "names": ["a", "b"]},
    "needs": {"build": {"outputs": {"v": "1"}}, "lint": {"outputs": {"v": "2"}}},
}
SCOPE = Scope(CONTEXTS)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 1", ExpressionError),
        ("'it''s'", "it's"),
        ("0x10", 16),
        ("-1.5", -1.5),
        ("github.event.number == 7", True),
        ("github['ref'] != 'x' && matrix.size > 1", True),
        ("matrix.size < 1 || 'fallback'", "fallback"),
        ("!github.nothing", True),
        ("'ABC' == 'abc'", True),
        ("'1' == 1", True),
        ("null == ''", True),
        ("matrix.names[1]", "b"),
        ("matrix.names[9]", None),
        ("needs.*.outputs.v", ["1", "2"]),
        ("contains(matrix.names, 'B')", True),
        ("contains('hello', 'ELL')", True),
        ("startsWith(github.ref, 'refs/heads/')", True),
        ("endsWith(github.ref, 'MAIN')", True),
        ("format('{0}-{1} {{x}}', 'a', 2)", "a-2 {x}"),
        ("join(matrix.names, '+')", "a+b"),
        ("fromJSON('[1]')[0]", 1),
        ("(true && false) || true", True),
        ("unknown('x')", ExpressionError),
        ("fromJSON('x')", ExpressionError),
        ("format('{1}', 'a')", ExpressionError),
        ("startsWith('a')", ExpressionError),
        ("github.", ExpressionError),
        ("(1", ExpressionError),
        ("1 2", ExpressionError),
        ("'open", ExpressionError),
    ],
)
def test_an_expression_has_its_documented_value(text: str, value: object) -> None:
    if value is ExpressionError:
        with pytest.raises(ExpressionError):
            evaluate(text, SCOPE)
    else:
        assert evaluate(text, SCOPE) == value


def test_an_expression_that_is_the_whole_text_keeps_its_type() -> None:
    assert interpolate("${{ matrix.names }}", SCOPE) == ["a", "b"]
    assert interpolate("x-${{ matrix.size }}-${{ true }}-${{ null }}", SCOPE) == "x-2-true-"
    assert interpolate({"a": ["${{ matrix.size }}"], "b": 3}, SCOPE) == {"a": [2], "b": 3}


@pytest.mark.parametrize(
    ("text", "failed", "cancelled", "holds"),
    [
        (None, False, False, True),
        (None, True, False, False),
        ("github.event.number == 7", True, False, False),
        ("always()", True, True, True),
        ("failure()", True, False, True),
        ("failure()", False, False, False),
        ("${{ cancelled() }}", False, True, True),
        ("always() && github.event.number == 8", False, False, False),
        (False, False, False, False),
    ],
)
def test_a_condition_means_success_unless_it_asks_for_another_status(
    text: object, failed: bool, cancelled: bool, holds: bool
) -> None:
    assert condition(text, Scope(CONTEXTS, failed=failed, cancelled=cancelled)) is holds


@given(st.text(max_size=40))
def test_any_text_is_a_value_or_a_readable_error(text: str) -> None:
    with contextlib.suppress(ExpressionError):
        assert repr(evaluate(text, SCOPE))


@given(st.text(alphabet=st.characters(exclude_characters="'", exclude_categories=["Cs"]), max_size=40))
def test_a_quoted_text_is_itself(text: str) -> None:
    assert evaluate(f"'{text}'", SCOPE) == text
