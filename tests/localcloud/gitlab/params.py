"""Request parameters of the REST API: JSON, form and query together, with checks that name every fault."""

import json
from collections.abc import Iterable
from typing import Any

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request

from localcloud.gitlab.errors import ApiError, missing_or_wrong
from localcloud.gitlab.shapes import Tree, as_list, is_tree

TRUE = {"true", "t", "1", "on", "yes"}
FALSE = {"false", "f", "0", "off", "no", ""}


class Params:
    """The parameters of one call; the typed getters collect faults until `check`."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values
        self.problems: list[str] = []

    def __contains__(self, name: str) -> bool:
        return self.values.get(name) is not None

    def raw(self, name: str, default: Any = None) -> Any:
        """A value as it came."""
        value = self.values.get(name)
        return default if value is None else value

    def text(self, name: str, default: str | None = None, *, required: bool = False) -> str | None:
        """A string; numbers are taken as their text."""
        value = self.values.get(name)
        if value is None or value == "":
            if required:
                self.problems.append(f"{name} is missing" if value is None else f"{name} is empty")
            return default if value is None else ""
        if isinstance(value, dict | list):
            self.problems.append(f"{name} is invalid")
            return default
        return str(value)

    def need(self, name: str) -> str:
        """A string that must be there."""
        return self.text(name, required=True) or ""

    def integer(self, name: str, default: int | None = None, *, required: bool = False) -> int | None:
        """A whole number, also from its text."""
        value = self.values.get(name)
        if value is None:
            if required:
                self.problems.append(f"{name} is missing")
            return default
        try:
            return int(str(value))
        except ValueError:
            self.problems.append(f"{name} is invalid")
            return default

    def boolean(self, name: str, default: bool | None = None) -> bool | None:
        """True or false, also from their texts."""
        value = self.values.get(name)
        if value is None:
            return default
        word = str(value).lower()
        if word in TRUE or word in FALSE:
            return word in TRUE
        self.problems.append(f"{name} is invalid")
        return default

    def strings(self, name: str) -> list[str] | None:
        """A list of strings, also from one string with commas; blank and repeated entries are dropped."""
        value = self.values.get(name)
        if value is None:
            return None
        parts: list[Any] = value.split(",") if isinstance(value, str) else as_list(value)
        return list(dict.fromkeys(text for part in parts if (text := str(part).strip())))

    def objects(self, name: str, *keys: str) -> list[Tree]:
        """A list of objects that all have these keys; an empty one when it was not sent."""
        value = as_list(self.values.get(name))
        good = [item for item in value if is_tree(item) and set(keys) <= set(item)]
        if len(good) < len(value):
            self.problems.append(f"{name} is invalid")
        return good

    def choice(
        self, name: str, values: Iterable[str], default: str | None = None, *, required: bool = False
    ) -> str | None:
        """One of the named values."""
        value = self.values.get(name)
        if value is None:
            if required:
                self.problems += [f"{name} is missing", f"{name} does not have a valid value"]
            return default
        if value not in set(values):
            self.problems.append(f"{name} does not have a valid value")
        return str(value)

    def check(self) -> None:
        """Refuse the call when a getter found a fault."""
        if self.problems:
            raise missing_or_wrong(self.problems)


async def read(request: Request) -> Params:
    """Collect the parameters of a request; the body wins over the query."""
    values = _pairs([(key, value) for key, value in request.query_params.multi_items()])
    kind = request.headers.get("content-type", "").split(";")[0].strip()
    if kind == "application/json":
        values |= _json(await request.body())
    elif kind in {"application/x-www-form-urlencoded", "multipart/form-data"}:
        values |= _form(await request.form(max_part_size=64 * 1024 * 1024))
    return Params(values)


def _json(body: bytes) -> dict[str, Any]:
    if not body.strip():
        return {}
    try:
        value: object = json.loads(body)
    except ValueError as error:
        raise ApiError(400, {"error": f"The provided request body is not valid JSON: {error}"}) from None
    if not is_tree(value):
        raise ApiError(400, {"error": "The provided request body must be a JSON object"})
    return value


def _form(form: FormData) -> dict[str, Any]:
    return _pairs([(key, value) for key, value in form.multi_items()])


def _pairs(items: list[tuple[str, str | UploadFile]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in items:
        if key.endswith("[]"):
            values.setdefault(key[:-2], []).append(value)
        elif key.endswith("]") and "[" in key:
            outer, inner = key[:-1].split("[", 1)
            values.setdefault(outer, {})[inner] = value
        else:
            values[key] = value
    return values
