"""The controller's boot as a whole: what waits for what."""

import pytest
from machine import Machine

SHA = "a" * 64
REFUSES = '{"status":"not ready","role":"refuses","reason":"row vm-1 cannot be read"}'
PROGRAMS = {
    "curl": """
case ${!#} in
  */healthz) exit "$(cat "$FIXTURE/healthz")" ;;
  */readyz) cat "$FIXTURE/readyz"; [ ! -s "$FIXTURE/readyz" ] || exit 22 ;;
esac""",
    "caddy": "",
    "sync": "",
}


@pytest.fixture
def controller(machine: Machine) -> Machine:
    machine.root("etc/shadow-runner/config.toml").unlink()
    for name, body in PROGRAMS.items():
        path = machine.folder / "bin" / name
        path.write_text(f'#!/bin/bash\nprintf \'%s\\n\' "$(basename "$0") $*" >>"$FIXTURE/calls"\n{body}\n')
        path.chmod(0o755)
    installed = f"opt/shadow-autoscaler/{SHA[:16]}"
    machine.put(f"{installed}/.complete", "")
    machine.put(f"{installed}/bin/shadow-autoscaler", "#!/bin/sh\n").chmod(0o755)
    machine.put("etc/shadow-runner/Caddyfile", "x")
    env = {"CALLBACK": "https://c", "WHEEL_URL": "w", "WHEEL_SHA256": SHA, "LISTEN_PORT": "8080"}
    machine.put("etc/shadow-runner/serve.env", "".join(f"SHADOW_{key}={env[key]}\n" for key in env))
    machine.write("healthz", "0")
    machine.write("readyz", "")
    return machine


def test_webhooks_come_in_before_the_controller_can_decide(controller: Machine) -> None:
    """They are written down first: one that is refused would be found much later, or never."""
    controller.write("readyz", REFUSES)
    assert controller.run("serve.sh").returncode == 1
    assert "systemctl restart caddy" in controller.calls
    last = controller.console[-1]
    assert last.startswith("shadow-runner: phase=ready status=failed")
    assert "row vm-1 cannot be read" in last


def test_nothing_is_let_in_before_the_service_answers(controller: Machine) -> None:
    controller.write("healthz", "7")
    assert controller.run("serve.sh").returncode == 1
    assert "phase=service status=failed" in controller.console[-1]
    assert "systemctl restart caddy" not in controller.calls


def test_a_controller_that_decides_is_ready(controller: Machine) -> None:
    ran = controller.run("serve.sh")
    assert ran.returncode == 0, (ran.stderr, controller.console)
    assert (
        controller.console[-1]
        == "shadow-runner: phase=ready status=ok reason=controller answers at https://c"
    )
