"""Turns facts into HTML. Everything is escaped; nothing inline needs a looser content security policy."""

import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from shadow_autoscaler.edge.page import words
from shadow_autoscaler.edge.page.facts import ON_ITS_WAY, Facts

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = files("shadow_autoscaler.edge.page")
ASSETS = {"app.css": "text/css; charset=utf-8", "app.js": "text/javascript; charset=utf-8"}


def page(facts: Facts) -> str:
    """Return the whole page."""
    return _environment().get_template("page.html.j2").render(facts=facts, version=version())


def live(facts: Facts) -> str:
    """Return the part that is refreshed."""
    return _environment().get_template("live.html.j2").render(facts=facts)


def login(*, wrong: bool) -> str:
    """Return the sign-in page."""
    return _environment().get_template("login.html.j2").render(wrong=wrong, version=version())


@cache
def asset(name: str) -> bytes:
    """Return a file that the page loads."""
    return _HERE.joinpath("assets", name).read_bytes()


@cache
def version() -> str:
    """Return a text that changes with the assets, so that browsers may keep them for long."""
    return hashlib.sha256(b"".join(asset(name) for name in ASSETS)).hexdigest()[:12]


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 -- not for functions on AWS

    environment = Environment(
        loader=PackageLoader("shadow_autoscaler.edge.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update({"on_its_way": ON_ITS_WAY})  # pyright: ignore[reportArgumentType, reportCallIssue]
    environment.filters |= {
        "duration": words.duration,
        "clock": words.clock,
        "amount": words.amount,
        "sentence": words.sentence,
    }
    return environment
