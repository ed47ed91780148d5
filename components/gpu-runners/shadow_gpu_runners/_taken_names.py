"""Which instance names the running program has given away: servers of one name cannot be told apart.

Only a Python program is seen as a whole: for other languages, Pulumi makes each component in a context
of its own.
"""

from collections.abc import MutableMapping
from typing import Any, cast
from weakref import WeakKeyDictionary

import pulumi
from pulumi.runtime import settings

# The connection to the engine is one object for each run of a program.
_monitor: Any = cast("Any", settings).get_monitor
_by_run: WeakKeyDictionary[Any, dict[object, dict[str, str]]] = WeakKeyDictionary()


def of(component: pulumi.ComponentResource) -> MutableMapping[str, str]:
    """Return group by instance name in the cloud, that is the provider, that `component` is made in."""
    provider = component.get_provider("openstack:compute/instance:Instance")
    return _by_run.setdefault(_monitor(), {}).setdefault(id(provider) if provider else None, {})
