"""What `teardown` deletes, in which order, and when it refuses."""

import io
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import openstack
import pytest
from openstack.exceptions import ConflictException, SDKException

import pulumi_cli
from shadow_gpu_runners import ownership
from teardown import __main__ as command
from teardown import machines

OURS, OTHER = "shadow-gpu-runners.dev", "shadow-gpu-runners.prod"


def marked(deployment: str, component: str) -> dict[str, str]:
    return ownership.metadata(deployment, component)


def described(deployment: str, component: str) -> str:
    return " ".join([*ownership.tags(deployment, component), "vm=gpu-1"])


class Cloud:
    """As much of a project as teardown asks for; writes down what it does."""

    current_project_id = "p"

    def __init__(self) -> None:
        self.done: list[str] = []
        self.refused = {"port-ours": 1}
        self.things: dict[str, list[Any]] = {
            "server": [
                self.thing("gpu-1", metadata=marked(OURS, "autoscaler"), status="ACTIVE"),
                self.thing("gpu-2", metadata=marked(OTHER, "autoscaler"), status="ACTIVE"),
                self.thing("gpu-3", metadata={}, status="ACTIVE"),
                self.thing("runner", metadata=marked(OURS, "gpu"), status="ACTIVE"),
                self.thing("autoscaler", metadata=marked(OURS, "autoscaler-controller"), status="ACTIVE"),
            ],
            "port": [
                self.thing("port-ours", description=described(OURS, "autoscaler"), tags=[]),
                self.thing("port-other", description=described(OTHER, "autoscaler"), tags=[]),
                self.thing("port-stack", description="", tags=ownership.tags(OURS, "autoscaler-controller")),
            ],
            "ip": [self.thing("ip-ours", description="", tags=ownership.tags(OURS, "autoscaler"))],
            "volume": [
                self.thing("disk-ours", metadata=marked(OURS, "autoscaler")),
                self.thing("state", metadata=marked(OURS, "autoscaler-controller")),
            ],
        }
        self.compute = SimpleNamespace(
            servers=lambda: list(self.things["server"]),
            stop_server=self.stop,
            delete_server=lambda each: self.delete("server", each),
        )
        self.network = SimpleNamespace(
            ports=lambda **_: list(self.things["port"]),
            ips=lambda **_: list(self.things["ip"]),
            delete_port=lambda each: self.delete("port", each),
            delete_ip=lambda each: self.delete("ip", each),
        )
        self.block_storage = SimpleNamespace(
            volumes=lambda: list(self.things["volume"]),
            delete_volume=lambda each: self.delete("volume", each),
        )

    @staticmethod
    def thing(name: str, **more: Any) -> SimpleNamespace:
        return SimpleNamespace(id=name, name=name, **more)

    def stop(self, name: str) -> None:
        self.done.append(f"stop {name}")
        for each in self.things["server"]:
            if each.id == name:
                each.status = "SHUTOFF"

    def delete(self, kind: str, name: str) -> None:
        if self.refused.get(name):
            self.refused[name] -= 1
            raise ConflictException
        self.done.append(f"delete {name}")
        self.things[kind] = [each for each in self.things[kind] if each.id != name]


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cloud:
    made = Cloud()
    (tmp_path / "Pulumi.yaml").write_text("name: shadow-gpu-runners\n")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    monkeypatch.setattr(command, "cloud", lambda _stack: "shadow-dev")
    monkeypatch.setattr(openstack, "connect", lambda **_: made)
    monkeypatch.setattr(machines, "_POLL_S", 0.0)
    return made


def answer(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def names(things: Iterable[Any]) -> list[str]:
    return [each.name for each in things]


def test_the_controller_stops_first_then_machines_go_then_what_they_leave(cloud: Cloud) -> None:
    assert command.main(["--stack", "acme/shadow-gpu-runners/dev", "--yes"]) == 0
    assert cloud.done == [
        "stop autoscaler",
        "delete gpu-1",
        "delete ip-ours",
        "delete disk-ours",
        "delete port-ours",
    ]
    assert names(cloud.things["server"]) == ["gpu-2", "gpu-3", "runner", "autoscaler"]
    assert names(cloud.things["port"]) == ["port-other", "port-stack"]
    assert names(cloud.things["volume"]) == ["state"]


def test_nothing_happens_without_a_yes(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(monkeypatch, "\n")
    assert command.main(["--stack", "dev"]) == 3
    assert cloud.done == []
    shown = capsys.readouterr()
    assert "server gpu-1 (gpu-1)" in shown.out
    assert "gpu-2" not in shown.out
    assert "nothing was changed" in shown.err


def test_a_second_time_there_is_nothing_to_do(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, "yes\n")
    assert command.main(["--stack", "dev"]) == 0
    cloud.done.clear()
    assert command.main(["--stack", "dev", "--yes"]) == 0
    assert cloud.done == []


def test_what_does_not_go_is_named(cloud: Cloud, capsys: pytest.CaptureFixture[str]) -> None:
    cloud.refused["gpu-1"] = 10**9
    assert command.main(["--stack", "dev", "--yes", "--limit", "0.05"]) == 1
    assert "server gpu-1 (gpu-1); run this again" in capsys.readouterr().err


def test_a_cloud_that_does_not_answer_is_told(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(cloud: str) -> None:
        raise SDKException(f"no way to {cloud}")

    monkeypatch.setattr(openstack, "connect", refuse)
    assert command.main(["--stack", "dev", "--yes"]) == 2
    assert "check the credential" in capsys.readouterr().err


def test_without_a_project_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(pulumi_cli.EngineError, match=r"no Pulumi\.yaml here or above"):
        pulumi_cli.project()
