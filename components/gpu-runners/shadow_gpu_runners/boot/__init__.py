"""The scripts that turn a fresh machine into a CI runner; see docs/reference/boot.md."""

from importlib import resources

SCRIPTS = (
    "boot.sh",
    "guard.sh",
    "lib.sh",
    "packages.sh",
    "docker.sh",
    "gpu.sh",
    "metadata.sh",
    "secrets.sh",
    "runner.sh",
)
"""Names of the scripts, in the order in which a reader should meet them."""

JOB_SCRIPTS = ("job.sh", "once.sh", "controller.py")
"""What a machine that runs one job has in place of boot.sh, guard.sh and runner.sh."""

SERVE_SCRIPTS = (
    "keep-trying.sh",
    "serve.sh",
    "lib.sh",
    "packages.sh",
    "metadata.sh",
    "secrets.sh",
    "service.sh",
)
"""What the controller of the autoscaler has."""

SERVE_UNIT = "shadow-controller.service"
"""The systemd unit that runs them."""

SCRIPT_FOLDER = "/opt/shadow-runner"
"""Where they lie on the machine."""


def script(name: str) -> str:
    """Return the text of the script or unit `name`, one of those above."""
    return resources.files(__name__).joinpath(name).read_text("utf-8")
