"""The command `shadow-autoscaler`."""

from shadow_autoscaler.edge.cli.main import main

__all__ = ["main"]
