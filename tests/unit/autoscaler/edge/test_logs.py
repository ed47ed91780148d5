"""Log lines: structured, and without secrets."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from shadow_autoscaler.edge.logs import HIDDEN, JsonFormatter, Redactor

PLANTED = [
    "ghs_0123456789abcdefghijABCDEFGHIJ",
    "github_pat_11AAAAAAA0123456789_abcdefgh",
    "glrt-t1_0123456789abcdef",
    "glpat-0123456789abcdefghij",
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "eyJydW5uZXIiOiJlbmNvZGVkIn0.abc.def",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAK\n-----END RSA PRIVATE KEY-----",
    "learned by heart & odd $characters",
]


@pytest.fixture(name="lines")
def lines_fixture() -> Iterator[tuple[logging.Logger, io.StringIO]]:
    redactor, stream = Redactor(), io.StringIO()
    redactor.learn(PLANTED[-1])
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter(redactor))
    logger = logging.getLogger("test.redaction")
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.INFO)
    yield logger, stream
    logger.handlers = []


@pytest.mark.parametrize("secret", PLANTED)
def test_no_secret_gets_through_message_arguments_extra_or_trace(
    lines: tuple[logging.Logger, io.StringIO], secret: str
) -> None:
    logger, stream = lines
    try:
        {}[f"refused {secret}!"]
    except KeyError:
        logger.exception("got %s", secret, extra={"header": f"Bearer {secret}", "vm": "gpu-1"})
    text = stream.getvalue()
    line = json.loads(text)
    assert secret not in text
    assert json.dumps(secret)[1:-1] not in text
    assert HIDDEN in line["message"]
    assert HIDDEN in line["header"]
    assert line["vm"] == "gpu-1"


def test_bearer_and_address_credentials_are_hidden_whatever_they_look_like() -> None:
    cleaned = Redactor().clean("authorization: Bearer abcdefgh12345678; https://user:pass@host/x")
    assert cleaned == f"authorization: Bearer {HIDDEN}; https://{HIDDEN}@host/x"


def test_a_line_is_one_json_object_with_its_time_in_utc(lines: tuple[logging.Logger, io.StringIO]) -> None:
    logger, stream = lines
    logger.info("two\nlines", extra={"count": 3, "none": None})
    (text,) = stream.getvalue().splitlines()
    line = json.loads(text)
    assert (line["message"], line["count"], line["none"], line["level"]) == ("two\nlines", 3, None, "info")
    assert line["at"].endswith("+00:00")


def test_short_values_would_hide_ordinary_text_and_are_left() -> None:
    redactor = Redactor()
    redactor.learn("ok")
    assert redactor.clean("all ok") == "all ok"
