"""The configuration described for editors (JSON schema) and readers (Markdown), from the one model."""

import json
from collections.abc import Iterator
from typing import Any

from shadow_autoscaler.edge.config.kinds import span
from shadow_autoscaler.edge.config.model import Config


def schema() -> str:
    """Return the JSON schema of the file."""
    title = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "shadow-autoscaler"}
    body = Config.model_json_schema()
    body.pop("title", None)
    return json.dumps({**title, **body}, indent=2, sort_keys=False, ensure_ascii=False) + "\n"


def reference() -> str:
    """Return a table of every key, section by section."""
    body = Config.model_json_schema()
    definitions: dict[str, Any] = body["$defs"]
    lines = list(_table("Top", {**body, "description": "The keys of the file itself."}))
    for name, definition in sorted(definitions.items()):
        lines += _table(name, definition)
    return "\n".join(lines) + "\n"


def _table(name: str, definition: dict[str, Any]) -> Iterator[str]:
    yield from (f"## {name}", "", definition.get("description", ""), "")
    yield from ("| key | value | default | meaning |", "|---|---|---|---|")
    required = set(definition.get("required", ()))
    for key, field in definition["properties"].items():
        default = "**needed**" if key in required else _default(field)
        meaning = field.get("description", "").replace("\n", " ").replace("|", "\\|")
        yield f"| `{key}` | {_kind(field)} | {default} | {meaning} |"
    yield ""


def _default(field: dict[str, Any]) -> str:
    default = field.get("default")
    return "" if default in (None, "", [], {}) or isinstance(default, dict) else f"`{json.dumps(default)}`"


def _range(part: dict[str, Any]) -> str:
    """Return the range of a duration; numbers of other kinds have none that both ends bound."""
    if part.get("type") != "number" or "maximum" not in part:
        return ""
    return f", {span(part['minimum'])} to {span(part['maximum'])}"


def _kind(field: dict[str, Any]) -> str:
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in field:
        kinds = [_kind(part) for part in field["anyOf"] if part.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds)) + _range(field["anyOf"][0])
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if field.get("type") == "array":
        return f"list of {_kind(field['items'])}"
    if field.get("type") == "object":
        return f"map to {_kind(field['additionalProperties'])}"
    return {"string": "text", "integer": "whole number", "number": "number", "boolean": "true, false"}[
        field["type"]
    ]
