"""The policy pack in a real `up`: what a preview cannot see yet is stopped before it is created."""

import json

import pytest

from stack import policy_pack
from stack.live import LiveStack, cli

pytestmark = [pytest.mark.localcloud, pytest.mark.engine]


def test_up_stops_at_a_secret_in_user_data_and_goes_on_where_the_boot_removes_it(forges: LiveStack) -> None:
    stack = forges
    stack.config["pools"][0]["count"] = 1
    pack = policy_pack.copied(stack.folder)
    config = json.loads(policy_pack.CONFIG.read_text(encoding="utf-8"))
    config["no-secret-in-user-data"]["allow"] = []
    path = stack.folder / "policies.json"
    up = [
        "up",
        "--yes",
        "--stack",
        stack.select(),
        "--policy-pack",
        str(pack),
        "--policy-pack-config",
        str(path),
    ]

    path.write_text(json.dumps(config), encoding="utf-8")
    refused = cli(stack, *up, check=False)
    assert refused.returncode != 0
    assert "no-secret-in-user-data" in refused.stdout
    # The preview went through, since the runner's token was not known then; the server was never made.
    assert "gitlab:index/userRunner:UserRunner" in cli(stack, "stack", "export").stdout
    assert stack.servers() == {}

    config["no-secret-in-user-data"]["allow"] = ["gpu-*"]
    path.write_text(json.dumps(config), encoding="utf-8")
    done = cli(stack, *up)
    assert "shadow-gpu-runners@" in done.stdout
    assert list(stack.servers()) == ["gpu-01"]
    stack.stack.destroy()
    assert stack.tenant.leftovers() == []
