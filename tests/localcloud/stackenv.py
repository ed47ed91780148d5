"""Environment of the dev stack on the local cloud, as `export` lines (`eval "$(scripts/env)"`)."""

import secrets
import shlex
import sys

from localcloud import packages
from localcloud.paths import state_home
from localcloud.world import World, write_private


def variables(world: World) -> dict[str, str]:
    """Variables for `pulumi`: clients' addresses and tokens, state backend and its passphrase file."""
    backend = state_home() / "pulumi"
    backend.mkdir(parents=True, exist_ok=True)
    return {
        **world.environment(),
        "GITHUB_WEBHOOK_SECRET": _kept_secret("webhook-secret"),
        "GITLAB_WEBHOOK_TOKEN": _kept_secret("gitlab-webhook-token"),
        "SHADOW_AUTOSCALER_CALLBACK_KEY": _kept_secret("callback-key"),
        "SHADOW_AUTOSCALER_STATUS_TOKEN": _kept_secret("status-token"),
        "SHADOW_AUTOSCALER_WHEEL": packages.built().url,
        "SHADOW_AUTOSCALER_INDEX": f"{packages.ADDRESS}/simple/",
        "PULUMI_BACKEND_URL": f"file://{backend}",
        "PULUMI_CONFIG_PASSPHRASE": "local-cloud",
        "PULUMI_ERROR_OUTPUT_STRING": "1",
    }


def _kept_secret(name: str) -> str:
    path = state_home() / name
    if not path.exists():
        write_private(path, secrets.token_hex(20))
    return path.read_text()


if __name__ == "__main__":
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in variables(World.load()).items()]
    sys.stdout.write("".join(lines))
