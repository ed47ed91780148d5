"""Looks at cloud and forges, and carries out what is due."""

from typing import Any

from shadow_autoscaler.edge.functions import setting
from shadow_autoscaler.edge.functions.gateway import Event
from shadow_autoscaler.edge.functions.turning import turn

PATIENCE_S = 20.0


def handler(event: Event, context: setting.Context) -> dict[str, Any]:
    """Look and act once."""
    del event
    with turn(context, PATIENCE_S) as mine:
        if not mine.held:
            return {"held": False, "finished": False}
        mine.turns.work(mine.until)
        mine.turns.look()
        return {"held": True, "finished": mine.turns.work(mine.until)}
