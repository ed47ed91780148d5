"""The pack and the comment program behind the real engine; nothing is created and no cloud is asked."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from stack import policy_pack

ROOT = Path(__file__).parents[3]
PROGRAM = """
import pulumi
import pulumi_openstack as openstack

cloud = openstack.Provider("cloud", auth_url="http://127.0.0.1:9/v3", user_name="u", password="planted-pass")
opts = pulumi.ResourceOptions(provider=cloud)
group = openstack.networking.SecGroup("group", tags=["deployment=acme.dev"], opts=opts)
openstack.networking.SecGroupRule(
    "ssh", direction="ingress", ethertype="IPv4", protocol="tcp", port_range_min=22, port_range_max=22,
    remote_ip_prefix="0.0.0.0/0", security_group_id=group.id, opts=opts,
)
common = {
    "flavor_name": "edge-preemptible-c4m16-gpu-2000-1",
    "image_id": "x",
    "metadata": {"shadow-gpu-runners.deployment": "acme.dev"},
    "networks": [{"uuid": group.id}],
    "opts": opts,
}
token = pulumi.Output.secret("#cloud-config\\n# glrt-planted0123456789")
openstack.compute.Instance("vm", user_data=token, **common)
openstack.compute.Instance("late", user_data=group.id, **common)
"""

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return policy_pack.copied(tmp_path_factory.mktemp("pack"))


@pytest.fixture(scope="module")
def engine() -> dict[str, str]:
    """The engine's environment, without the credentials of whoever runs the tests."""
    exports = subprocess.run(
        [ROOT / "scripts" / "engine", "--env"], check=True, capture_output=True, text=True
    ).stdout
    found = dict(re.findall(r"^export (\w+)=(.*)$", exports, re.MULTILINE))
    path = found.pop("PATH").replace("$PATH", os.environ["PATH"])
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OS_", "PULUMI", "GITLAB", "GITHUB"))}
    venv = Path(sys.executable).parents[1]
    return {
        **kept,
        **found,
        "PATH": f"{venv / 'bin'}:{path}",
        "VIRTUAL_ENV": str(venv),
        "PULUMI_CONFIG_PASSPHRASE": "",
    }


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, engine: dict[str, str]) -> tuple[Path, dict[str, str]]:
    place = tmp_path_factory.mktemp("stack")
    state = tmp_path_factory.mktemp("state")
    (place / "Pulumi.yaml").write_text("name: acme\nruntime: python\n", encoding="utf-8")
    (place / "__main__.py").write_text(PROGRAM, encoding="utf-8")
    env = {**engine, "PULUMI_BACKEND_URL": f"file://{state}"}
    subprocess.run(["pulumi", "stack", "init", "dev"], cwd=place, env=env, check=True, capture_output=True)
    return place, env


def _preview(stack: tuple[Path, dict[str, str]], pack: Path, config: str) -> tuple[int, Path]:
    place, env = stack
    (place / "config.json").write_text(config, encoding="utf-8")
    done = subprocess.run(
        [
            *("pulumi", "preview", "--non-interactive", "--stack", "dev", "--json"),
            *("--policy-pack", str(pack), "--policy-pack-config", "config.json"),
        ],
        cwd=place,
        env={**env, "PULUMI_ENABLE_STREAMING_JSON_PREVIEW": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    output = place / "preview.json"
    output.write_text(done.stdout, encoding="utf-8")
    return done.returncode, output


def _comment(file: Path, code: int) -> tuple[int, str]:
    text = file.with_name("preview.md")
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "preview",
            file,
            "--exit-code",
            str(code),
            "--no-comment",
            "--output",
            text,
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT / "infra")},
        check=False,
    )
    return done.returncode, text.read_text(encoding="utf-8")


def test_the_engine_blocks_and_the_comment_says_why(stack: tuple[Path, dict[str, str]], pack: Path) -> None:
    code, output = _preview(stack, pack, "{}")
    assert code != 0
    verdict, text = _comment(output, code)
    assert verdict == 2
    assert "**Policies**: 2 violations" in text
    assert "| no-open-ingress | `ssh` | ingress of SSH (port 22) is open to 0.0.0.0/0" in text
    assert "| no-secret-in-user-data | `vm` | user-data holds GitLab runner token" in text
    assert "no-secret-in-user-data, `late`: not checked: userData is only known after" in text
    assert "planted" not in text


def test_allowed_exceptions_let_the_preview_pass(stack: tuple[Path, dict[str, str]], pack: Path) -> None:
    config = '{"no-open-ingress": {"allow": ["ssh"]}, "no-secret-in-user-data": {"allow": ["vm"]}}'
    code, output = _preview(stack, pack, config)
    assert code == 0
    assert _comment(output, code)[0] == 0


def test_quota_limits_are_enforced_over_the_whole_stack(
    stack: tuple[Path, dict[str, str]], pack: Path
) -> None:
    config = '{"all": "disabled", "quota-fits": {"enforcementLevel": "mandatory", "limits": {"cores": 7}}}'
    code, output = _preview(stack, pack, config)
    assert code != 0
    verdict, text = _comment(output, code)
    assert verdict == 2
    assert "| quota-fits | the stack | 8 cores are needed, the quota is 7 |" in text
