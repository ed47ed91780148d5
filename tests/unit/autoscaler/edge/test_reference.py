"""The reference pages say what the code does."""

import re
from pathlib import Path

import pytest

from shadow_autoscaler.edge.cli import main
from shadow_autoscaler.edge.cli.codes import Exit
from shadow_autoscaler.edge.config import describe, parse
from shadow_autoscaler.edge.metrics import Metrics

PAGES = Path(__file__).parents[4] / "docs/reference"


def test_every_key_of_the_configuration_is_explained() -> None:
    assert (PAGES / "autoscaler-config.md").read_text().endswith(describe.reference())


def test_the_example_of_the_configuration_is_good() -> None:
    text = (PAGES / "autoscaler-config.md").read_text().partition("    deployment:")
    example = "deployment:" + text[2].partition("\n\n")[0].replace("\n    ", "\n")
    assert parse(example).deployment == "acme-ci"


def test_every_metric_is_explained_with_its_labels() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| ([\w, ]*) ?\|", (PAGES / "autoscaler-metrics.md").read_text(), re.MULTILINE
    )
    explained = {name: labels.strip() for name, labels in rows}
    for metric in vars(Metrics()).values():
        if not hasattr(metric, "describe"):
            continue
        (family,) = metric.describe()
        name = family.name.removeprefix("shadow_autoscaler_") + ("_total" if family.type == "counter" else "")
        assert explained[name] == ", ".join(metric._labelnames)


def test_every_command_and_exit_code_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    page = (PAGES / "autoscaler-cli.md").read_text()
    with pytest.raises(SystemExit):
        main(["--help"])
    commands = re.findall(r"^    (\w+)  ", capsys.readouterr().out, re.MULTILINE)
    assert len(commands) == 9
    assert all(f"| `{command}" in page for command in commands)
    assert all(f"| {code.value} |" in page for code in Exit)
