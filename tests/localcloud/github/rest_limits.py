"""The endpoint that shows the caller's rate limits; it costs nothing."""

from localcloud.github.http import Api, Call, Reply
from localcloud.github.limits import RESOURCES, Limits
from localcloud.github.principal import ANYBODY


def make(limits: Limits) -> Api:
    """Endpoints over the given counters."""
    api = Api()

    @api.route("GET", "/rate_limit", ANYBODY)
    def show(call: Call) -> Reply:  # pyright: ignore[reportUnusedFunction]
        found = {name: limits.state(call.sim, call.principal, name) for name in RESOURCES}
        return Reply({"resources": found, "rate": found["core"]})

    return api
