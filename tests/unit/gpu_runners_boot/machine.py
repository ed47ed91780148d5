"""A scratch machine for the boot scripts: a root folder, and programs on PATH that record their calls."""

import os
import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from shadow_gpu_runners import boot, boot_files
from shadow_gpu_runners.boot_files import BootSettings

TOKEN = "glrt-planted-7f3a9c"
ROWS = "{i}, GPU-{i}, NVIDIA RTX 2000 Ada, 550.127.05, 16380 MiB"

PROGRAMS = {
    "nvidia-smi": """
mode=$(cat "$FIXTURE/gpu")
calls=$(grep -c '^nvidia-smi' "$FIXTURE/calls")
case $mode in
  absent) echo 'nvidia-smi: command not found' >&2; exit 127 ;;
  late) [ "$calls" -gt 3 ] || { echo "couldn't communicate with the NVIDIA driver"; exit 9; } ;;
  mismatch) echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18 ;;
  hang) exec /bin/sleep 60 ;;
  none) echo 'No devices were found'; exit 6 ;;
  reset) echo '0, GPU-0, [GPU requires reset], 550.127.05, [GPU requires reset]'; exit 0 ;;
esac
case "$*" in
  --query-gpu=*) cat "$FIXTURE/rows" ;;
  *) if [ "$mode" = err ]; then echo '| ERR!  ERR!  ERR! |'; else echo '| 30%   31C    P8 |'; fi ;;
esac
""",
    "docker": """
mode=$(cat "$FIXTURE/docker")
case "$1 $mode" in
  'pull fails') echo 'manifest unknown'; exit 1 ;;
  'pull '*) exit 0 ;;
  'image fails') exit 1 ;;
  'run no-gpu') echo 'could not select device driver "" with capabilities: [[gpu]]' >&2; exit 125 ;;
  'run other') case "$*" in *--query-gpu*) echo '0, GPU-other, NVIDIA A, 560.35, 1 MiB'; exit 0 ;; esac ;;
  'exec reload') [ ! -e "$FIXTURE/reloaded" ] || { echo 'NVML: Unknown Error'; exit 255; } ;;
esac
case "$1" in
  run) case "$*" in *--detach*) exit 0 ;; esac; shift 7; exec "$@" ;;
  exec) shift 2; exec "$@" ;;
esac
""",
    "systemctl": """
case "$1" in
  daemon-reload) : >"$FIXTURE/reloaded" ;;
  enable) : >"$FIXTURE/started" ;;
  stop | disable) rm -f "$FIXTURE/started" ;;
  is-active) [ -e "$FIXTURE/started" ] && [ ! -e "$FIXTURE/crash" ] ;;
esac
""",
    "iptables": """
[ "$1" = -w ] && shift
verb=$1; shift
case $verb in
  -N) grep -qx "N $1" "$FIXTURE/rules" && exit 1; echo "N $1" >>"$FIXTURE/rules" ;;
  -C) grep -qxF -- "$*" "$FIXTURE/rules" ;;
  -I) echo "$*" >>"$FIXTURE/rules" ;;
esac
""",
    "apt-get": """
left=$(cat "$FIXTURE/apt-failures")
if [ "$left" -gt 0 ]; then
  echo $((left - 1)) >"$FIXTURE/apt-failures"
  echo 'E: Could not get lock http://ci:pa55@mirror.test/ubuntu'
  exit 100
fi
""",
    "gpg": 'echo "fpr:::::::::$(cat "$FIXTURE/fingerprint"):"',
    "curl": """
while [ $# -gt 1 ]; do
  [ "$1" = --output ] && echo key >"$2"
  shift
done
""",
    "nvidia-ctk": "",
    "apt-mark": "",
    "dpkg-query": "echo nvidia-driver-550",
    "sleep": "",
    "journalctl": "echo 'FATAL: unable to load config'",
    "hostname": "echo shadow-gpu-runner-01",
    "useradd": "",
    "usermod": "",
    "chown": "",
    "getent": "exit 2",
    "setpriv": """
while [ "${1#--}" != "$1" ]; do
  case $1 in --reuid | --regid) shift ;; esac
  shift
done
exec "$@"
""",
    "gitlab-runner": "",
}
_HEAD = '#!/bin/bash\nprintf \'%s\\n\' "$(basename "$0") $*" >>"$FIXTURE/calls"\n'


@dataclass(slots=True)
class Machine:
    """One scratch machine. `write` changes a fixture, `run` plays a script of the boot folder."""

    folder: Path
    settings: BootSettings = field(
        default_factory=lambda: BootSettings(gpu_image="cuda:12", gpu_timeout_s=0, repositories=()),
    )

    def __post_init__(self) -> None:
        """Lay out the root, the programs and their fixtures."""
        for name, body in PROGRAMS.items():
            self._put(self.folder / "bin" / name, _HEAD + body, 0o755)
        defaults = {
            "gpu": "good",
            "docker": "good",
            "rows": "",
            "rules": "",
            "calls": "",
            "apt-failures": "0",
        }
        for name, value in defaults.items():
            self.write(name, value)
        self.show_gpus(1)
        self.put("etc/shadow-runner/config.toml", f'name = "@HOSTNAME@"\ntoken = "{TOKEN}"\n')
        self.put("etc/shadow-runner/daemon.json", boot_files.daemon_json(self.settings))
        self.put("run/shadow-runner/.keep", "")
        self.put("etc/systemd/system/.keep", "")

    def show_gpus(self, count: int) -> None:
        """Let nvidia-smi list `count` cards."""
        self.write("rows", "".join(ROWS.format(i=i) + "\n" for i in range(count)))

    def write(self, fixture: str, value: str) -> None:
        """Set what a program answers."""
        self._put(self.folder / "fixture" / fixture, value, 0o644)

    def put(self, path: str, content: str) -> Path:
        """Write a file below the root."""
        return self._put(self.folder / "root" / path, content, 0o600)

    def root(self, path: str) -> Path:
        """Return the place of `path` below the root."""
        return self.folder / "root" / path

    def run(
        self, script: str = "boot.sh", *arguments: str, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Play a script to its end."""
        env_lines = boot_files.boot_env(self.settings) + "SHADOW_GPU_COMMAND_TIMEOUT_S=1\n"
        self.put("etc/shadow-runner/boot.env", env_lines)
        return self._bash([str(self._scripts() / script), *arguments], **environment)

    def shell(self, line: str, *parts: str) -> subprocess.CompletedProcess[str]:
        """Run one line of bash after sourcing `parts` of the boot folder."""
        sources = "".join(f". {shlex.quote(str(self._scripts() / part))}\n" for part in ("lib.sh", *parts))
        return self._bash(["-c", f"set -euo pipefail\n{sources}{line}"])

    @property
    def console(self) -> list[str]:
        """Lines on the console."""
        path = self.folder / "console"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def calls(self) -> list[str]:
        """Command lines of the programs, in order."""
        return (self.folder / "fixture/calls").read_text().splitlines()

    @property
    def started(self) -> bool:
        """Whether the runner service runs."""
        return (self.folder / "fixture/started").exists()

    def _scripts(self) -> Path:
        return Path(boot.__file__).parent

    def _bash(self, arguments: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
        env = {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "FIXTURE": str(self.folder / "fixture"),
            "SHADOW_ROOT": str(self.folder / "root"),
            "SHADOW_CONSOLE": str(self.folder / "console"),
        } | environment
        # A session of its own: a test may end all of it at once, as a power loss does.
        return subprocess.run(
            ["/bin/bash", *arguments],
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            start_new_session=True,
        )

    @staticmethod
    def _put(path: Path, content: str, mode: int) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        path.chmod(mode)
        return path
