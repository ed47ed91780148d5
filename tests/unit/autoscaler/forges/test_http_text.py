"""What answers say, without secrets and in one line."""

from datetime import UTC, datetime

import pytest

from shadow_autoscaler.adapters.http_text import clip, message_of, reset_in, seconds_until


@pytest.mark.parametrize(
    "secret",
    [
        "ghp_0123456789abcdefghij",
        "ghs_0123456789abcdefghij",
        "github_pat_11AAA_bcd",
        "glpat-0123456789-_abc",
        "glrt-t1_0123456789abc",
        "eyJhbGciOi.eyJpYXQiOjE.c2lnbmF0dXJl",
    ],
)
def test_tokens_never_come_through(secret: str) -> None:
    text = clip(f"GET /x?private_token={secret} with {secret}\nfailed")
    assert secret not in text
    assert text.endswith("failed")
    assert "\n" not in text


def test_passwords_of_proxies_never_come_through() -> None:
    assert clip("ProxyError: http://user:hunter2@proxy:3128") == "ProxyError: http://***proxy:3128"


def test_a_long_text_is_cut() -> None:
    assert len(clip("x" * 1000)) == 300


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"message": "Not Found"}', "Not Found"),
        (
            b'{"message": "Validation Failed", "errors": [{"field": "name"}]}',
            "Validation Failed [{'field': 'name'}]",
        ),
        (b'{"error": "invalid_token", "error_description": "Token is expired."}', "Token is expired."),
        (b'{"error": "scope is invalid"}', "scope is invalid"),
        (b'{"message": {"name": ["is taken"]}}', "{'name': ['is taken']}"),
        (b"<html>\n<b>Bad Gateway", "<html> <b>Bad Gateway"),
        (b"[1]", "[1]"),
        (b"", ""),
        (b"\xff\xfe", "\ufffd\ufffd"),
    ],
)
def test_the_message_of_an_error(body: bytes, expected: str) -> None:
    assert message_of(body) == expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, None),
        ("60", 60.0),
        (" 7 ", 7.0),
        ("Mon, 30 Nov 2026 12:01:00 GMT", 60.0),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("-5", None),
        ("9" * 400, 3600.0),
        ("Mon, 30 Nov 9999 12:00:00 GMT", 3600.0),
        ("Mon, 30 Nov 2026 12:01:00 -0000", None),
    ],
)
def test_retry_after_in_both_its_forms(header: str | None, expected: float | None) -> None:
    assert seconds_until(header, datetime(2026, 11, 30, 12, 0, tzinfo=UTC)) == expected


def test_a_reset_is_measured_by_the_servers_own_clock() -> None:
    noon = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
    headers = {"date": "Mon, 30 Nov 2026 12:00:00 GMT", "x-ratelimit-reset": str(int(noon.timestamp()) + 90)}
    assert reset_in(headers, "x-ratelimit-reset") == 90.0
    assert reset_in({"x-ratelimit-reset": "never"}, "x-ratelimit-reset") is None
    assert reset_in({"x-ratelimit-reset": "1"}, "x-ratelimit-reset") == 0.0
    assert reset_in({"x-ratelimit-reset": "9" * 400}, "x-ratelimit-reset") == 3600.0
