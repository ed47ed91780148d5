"""Compiles parts from pinned Go modules, all packages of a module in one go command."""

import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from engine.cache import appearing, require_space
from engine.errors import EngineError
from engine.gotoolchain import environment
from engine.parts import SOURCES, GoBuild, Part

DISK_MIB = 6_000
"""What a first build adds to Go's module and build caches, with some room."""

_ADVICE = (
    (
        r"no space left on device",
        "the disk is full: free some, or set SHADOW_CACHE_HOME, GOCACHE and GOMODCACHE to a larger disk",
    ),
    (
        r"dial tcp|i/o timeout|connection refused|no such host|TLS handshake|proxyconnect|: 50[0-9] ",
        "the Go module proxy cannot be reached: check the network, or set GOPROXY (and HTTPS_PROXY)",
    ),
    (
        r"checksum mismatch|SECURITY ERROR",
        "a module differs from its pin: run `go clean -modcache`; if it stays, distrust the proxy",
    ),
    (
        r"signal: killed|cannot allocate memory",
        "the compiler was killed, most likely for lack of memory: it needs about 4 GiB free",
    ),
)
_DEFAULT_ADVICE = "run scripts/engine again (it goes on where it stopped); if it fails alike, read the log"
_LOG_TAIL = 12


class GoBuilder:
    """Runs one Go toolchain for the parts of one module; everything it prints goes to a log file."""

    def __init__(self, go: Path, log: Path, note: Callable[[str], None]) -> None:
        self._go = go
        self._log = log
        self._note = note
        self._environment = environment(go)

    def build(self, parts: Mapping[Path, Part]) -> None:
        """Compile parts of one module into their folders (the keys), which appear only when complete."""
        builds = {folder: (part, part.go) for folder, part in parts.items() if part.go}
        module = SOURCES / next(iter(builds.values()))[1].module
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._log.write_text("", encoding="utf-8")
        self._check_space()
        first = next(iter(builds))
        with appearing(first.with_name(f"{first.name}.staging")) as staging:
            self._compile([go for _, go in builds.values()], module, staging)
            for folder, (part, go) in builds.items():
                with appearing(folder) as place:
                    self._collect(part, go, module, staging, place)
        shutil.rmtree(first.with_name(f"{first.name}.staging"), ignore_errors=True)

    def _check_space(self) -> None:
        for variable in ("GOCACHE", "GOMODCACHE"):
            folder = Path(self._capture(["env", variable], SOURCES).strip())
            if not folder.exists():
                require_space(folder, DISK_MIB, "a first build from Go modules")

    def _compile(self, builds: Sequence[GoBuild], module: Path, staging: Path) -> None:
        settings = dict.fromkeys(f"-X {name}={value}" for build in builds for name, value in build.settings)
        flags = ["-trimpath", "-v", "-ldflags", " ".join(["-s", "-w", *settings])]
        packages = [build.package for build in builds]
        self._execute([str(self._go), "build", *flags, "-o", f"{staging}/", *packages], module)

    def _collect(self, part: Part, go: GoBuild, module: Path, staging: Path, place: Path) -> None:
        scripts = {Path(path).name: (source, path) for source, path in go.scripts}
        for name in part.executables:
            if name in scripts:
                source, path = scripts[name]
                home = self._capture(["list", "-m", "-f", "{{.Dir}}", source], module).strip()
                shutil.copyfile(Path(home) / path, place / name)
            else:
                (staging / (go.binary or name)).rename(place / name)
            (place / name).chmod(0o755)

    def _capture(self, arguments: Sequence[str], folder: Path) -> str:
        command = [str(self._go), *arguments]
        done = subprocess.run(
            command, cwd=folder, env=self._environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            self._fail(command, done.stderr)
        return done.stdout

    def _execute(self, command: Sequence[str], folder: Path) -> None:
        """Run a command that ends with this process, counting the packages it reports."""
        compiled = downloaded = 0
        with (
            self._log.open("a", encoding="utf-8") as log,
            subprocess.Popen(
                [*_tied_to_this_process(), *command],
                cwd=folder,
                env=self._environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
            ) as process,
        ):
            for line in process.stderr or ():
                log.write(line)
                downloaded += line.startswith("go: downloading ")
                compiled += not line.startswith(("go: ", "#", "warning", "\t", " "))
                self._note(f"{downloaded} modules fetched, {compiled} packages compiled")
        if process.returncode:
            self._fail(command, self._log.read_text(encoding="utf-8"))

    def _fail(self, command: Sequence[str], output: str) -> None:
        end = "\n    ".join(output.strip().splitlines()[-_LOG_TAIL:])
        advice = next((text for pattern, text in _ADVICE if re.search(pattern, output)), _DEFAULT_ADVICE)
        what = " ".join(["go" if command[0] == str(self._go) else Path(command[0]).name, *command[1:2]])
        raise EngineError(f"`{what}` failed (log: {self._log}):\n    {end}", advice)


def _tied_to_this_process() -> list[str]:
    """Return a prefix that ends the child with us, so that a killed run leaves no compiler behind (Linux)."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL"] if setpriv else []
