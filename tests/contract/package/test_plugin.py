"""The plugin process: its entry points, and faults that reach other languages without a stack trace."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pulumi
import pytest

from shadow_gpu_runners.plugin import COMPONENTS, NAME, Plugin
from shadow_gpu_runners.testing import record

FOLDER = Path(__file__).parents[3] / "components" / "gpu-runners"


def construct(component: str, inputs: dict[str, Any]) -> None:
    def program() -> None:
        Plugin(COMPONENTS, NAME, None, "0.1.0").construct("ci", f"{NAME}:index:{component}", inputs, None)

    record(program)


def test_input_faults_are_handed_on_as_such() -> None:
    with pytest.raises(pulumi.InputPropertiesError) as caught:
        construct("RunnerNetwork", {"cidr": "10.0.0.1/24", "externalNetwork": "x", "egress": [{"port": 0.0}]})
    assert not isinstance(caught.value, pulumi.RunError)
    assert [fault["property_path"] for fault in caught.value.errors or []] == ["cidr", "egress[0].port"]


def test_inputs_as_other_languages_send_them_are_taken() -> None:
    construct(
        "RunnerNetwork",
        {
            "cidr": "10.20.0.0/24",
            "externalNetwork": "ext-net",
            "mtu": 1442.0,
            "instances": 3.0,
            "egress": [{"port": 443.0, "lastPort": 444.0}],
        },
    )
    construct(
        "InstanceGroup",
        {
            "count": 2.0,
            "flavor": "edge-c4m16-gpu-2000-1",
            "imageId": "i",
            "networkId": "n",
            "securityGroupIds": ["g"],
            "bootVolume": {"sizeGib": 20.0},
            "maxUnavailable": 1.0,
        },
    )


@pytest.mark.parametrize(
    "start", [[str(FOLDER)], ["-c", "from shadow_gpu_runners.plugin import main; main()"]]
)
def test_it_serves_and_tells_its_port(start: list[str], tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, *start, "127.0.0.1:1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        assert int(process.stdout.readline()) > 0
    finally:
        process.kill()
        process.communicate()
