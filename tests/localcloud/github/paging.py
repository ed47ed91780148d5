"""Pages of a list: `per_page` (30, at most 100), `page`, and the `Link` header."""

from collections.abc import Callable, Sequence
from typing import TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from localcloud.github.http import Call, Reply

_DEFAULT = 30
_MAX = 100
Item = TypeVar("Item")


def page(call: Call, items: Sequence[Item], show: Callable[[Item], object], key: str | None = None) -> Reply:
    """The page that the call asks for; with `key`, wrapped with a `total_count`."""
    size = _whole(call.query.get("per_page"), _DEFAULT, _MAX)
    number = _whole(call.query.get("page"), 1, None)
    shown = [show(item) for item in items[(number - 1) * size : number * size]]
    last = max(1, -(-len(items) // size))
    link = _link(call.url, number, last)
    body: object = shown if key is None else {"total_count": len(items), key: shown}
    return Reply(body, headers={"Link": link} if link else {})


def _whole(text: str | None, default: int, most: int | None) -> int:
    if text is None or not text.isdecimal() or int(text) < 1:
        return default
    return int(text) if most is None else min(int(text), most)


def _link(url: str, number: int, last: int) -> str:
    relations: dict[str, int] = {}
    if number > 1:
        relations |= {"prev": min(number - 1, last)}
    if number < last:
        relations |= {"next": number + 1, "last": last}
    if number > 1:
        relations |= {"first": 1}
    return ", ".join(f'<{_with_page(url, target)}>; rel="{name}"' for name, target in relations.items())


def _with_page(url: str, number: int) -> str:
    parts = urlsplit(url)
    query = [(name, value) for name, value in parse_qsl(parts.query) if name != "page"]
    return urlunsplit(parts._replace(query=urlencode([*query, ("page", str(number))])))
