"""`shadow-perfgate metrics`."""

import click

from shadow_perfgate.metrics import CANONICAL


@click.command("metrics")
def command() -> None:
    """List the canonical metrics with unit and the way each gets better."""
    for spec in CANONICAL.values():
        click.echo(f"{spec.name:<22}{spec.unit:<8}{spec.direction + ' is better':<20}{spec.title}")
