"""The package schema (for YAML programs and SDK generation), made from the property tables."""

import json
from typing import Any, Final

from gitlab_plugin import NOTICE, PLUGIN, VERSION
from gitlab_plugin.fields import Field
from gitlab_plugin.resources import TYPES
from gitlab_plugin.resources.base import ResourceType

_PAIR: Final = f"{PLUGIN}:index/pair:Pair"
_TYPES: Final[dict[str, dict[str, Any]]] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "strings": {"type": "array", "items": {"type": "string"}},
    "pairs": {"type": "array", "items": {"$ref": f"#/types/{_PAIR}"}},
}
_PAIR_TYPE: Final = {
    "type": "object",
    "properties": {"key": {"type": "string"}, "value": {"type": "string", "secret": True}},
    "required": ["key", "value"],
}
_CONFIG: Final[dict[str, dict[str, Any]]] = {
    "token": {"type": "string", "secret": True},
    "baseUrl": {"type": "string"},
    "insecure": {"type": "boolean"},
    "cacertFile": {"type": "string"},
    "clientCert": {"type": "string"},
    "clientKey": {"type": "string"},
    "headers": {"type": "object", "additionalProperties": {"type": "string"}},
    "retries": {"type": "integer"},
    "earlyAuthCheck": {"type": "boolean"},
}


def schema() -> str:
    """The schema as JSON."""
    return json.dumps(
        {
            "name": PLUGIN,
            "version": VERSION,
            "description": NOTICE,
            "config": {"variables": _CONFIG},
            "provider": {"inputProperties": _CONFIG},
            "types": {_PAIR: _PAIR_TYPE},
            "resources": {token: _resource(kind) for token, kind in TYPES.items()},
        }
    )


def _resource(kind: ResourceType) -> dict[str, Any]:
    return {
        "description": (type(kind).__doc__ or "").splitlines()[0],
        "properties": {field.name: _property(field) for field in kind.fields},
        "inputProperties": {field.name: _property(field) for field in kind.inputs},
        "requiredInputs": [field.name for field in kind.inputs if field.required],
    }


def _property(field: Field) -> dict[str, Any]:
    described = dict(_TYPES[field.type])
    if field.secret:
        described["secret"] = True
    if field.replace:
        described["willReplaceOnChanges"] = True
    return described
