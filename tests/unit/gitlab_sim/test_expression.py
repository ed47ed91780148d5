"""`rules:if` expressions."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcloud.gitlab.ci.expression import ExpressionError, check, evaluate

VARIABLES = {"BRANCH": "main", "EMPTY": "", "MR": "7", "PATTERN": "/^ma/", "TITLE": "Draft: x"}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("$BRANCH", True),
        ("$EMPTY", False),
        ("$MISSING", False),
        ('$BRANCH == "main"', True),
        ("$BRANCH == 'main'", True),
        ('"main" == ${BRANCH}', True),
        ('$BRANCH != "main"', False),
        ("$MISSING == null", True),
        ("$EMPTY == null", False),
        ('$EMPTY == ""', True),
        ("$MISSING != null", False),
        ("$BRANCH =~ /^ma/", True),
        ("$BRANCH =~ /^MA/", False),
        ("$BRANCH =~ /^MA/i", True),
        ("$BRANCH !~ /^x/", True),
        ("$MISSING =~ /./", False),
        ("$MISSING !~ /./", True),
        ("$BRANCH =~ $PATTERN", True),
        (r"$TITLE =~ /^Draft:\s/", True),
        ("$MISSING || $MR", True),
        ("$MISSING && $MR", False),
        ("$MR && $MISSING || $BRANCH", True),
        ("$MR || $BRANCH && $MISSING", True),
        ("($MR || $BRANCH) && $MISSING", False),
        ('$BRANCH == "main" && $MR == "7" && ($EMPTY == "" || $MISSING)', True),
    ],
)
def test_values(text: str, holds: bool) -> None:
    assert evaluate(text, VARIABLES) is holds


@pytest.mark.parametrize("text", ["", "$A ==", "($A", "$A)", "$A = 1", "main", "$A =~ /(/", "$A $B", "&& $A"])
def test_what_is_no_expression(text: str) -> None:
    with pytest.raises(ExpressionError):
        check(text)


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(["&&", "||"])), min_size=1, max_size=8))
def test_and_binds_stronger_than_or(parts: list[tuple[bool, str]]) -> None:
    words = {True: "$YES", False: "$NO"}
    text = " ".join(f"{words[value]} {operator}" for value, operator in parts) + " $NO"
    python = text.replace("$YES", "True").replace("$NO", "False").replace("&&", "and").replace("||", "or")
    assert evaluate(text, {"YES": "1"}) is eval(python)  # noqa: S307 - made of four words above


@given(st.text(max_size=30))
def test_any_text_is_an_expression_or_a_named_error(text: str) -> None:
    with suppress(ExpressionError):
        assert evaluate(text, VARIABLES) in {True, False}
