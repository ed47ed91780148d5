"""What the engine consists of, at which versions, and from where each part can come."""

import platform
import sys
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).resolve().parent

PULUMI = "3.274.1"
YAML = "1.38.1"
OPENSTACK = "5.5.3"
GITHUB = "6.15.0"
GITLAB = "10.4.0"
ACTIONLINT = "1.7.12"
RUNNER = "1.11.1-0.20260903214710-fc1f1862bd91"

_PULUMI_SDK = "github.com/pulumi/pulumi/sdk/v3"
_VERSION_VARIABLE = f"{_PULUMI_SDK}/go/common/version.Version"


@dataclass(frozen=True, slots=True)
class GoBuild:
    """How a part is compiled: `package` of the Go module in `module` (a folder beside this file)."""

    module: str
    package: str
    settings: tuple[tuple[str, str], ...] = ()
    """String variables set at link time (Go import path and name, value)."""
    binary: str | None = None
    """Name that Go gives the executable, where it differs from the part's."""
    scripts: tuple[tuple[str, str], ...] = ()
    """Files to take along from a required module: (module path, path inside it)."""


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of the engine: executables that belong together and have one version."""

    name: str
    title: str
    version: str
    executables: tuple[str, ...]
    go: GoBuild | None = None
    plugin: str | None = None
    """The package name when the part is a resource plugin; it then goes to PULUMI_HOME, not to PATH."""
    archive: str | None = None
    """Path of the official archive below the download site, with {version}, {os} and {arch}."""
    checksums: str | None = None
    """Address of the release's SHA-256 list."""
    standin: str | None = None
    """A folder beside this file that replaces the part where the official one cannot be had."""

    @property
    def sources(self) -> tuple[Path, ...]:
        """Return the folders whose content decides what a build of this part yields."""
        names = [self.go.module] if self.go else []
        return tuple(SOURCES / name for name in [*names, *([self.standin] if self.standin else [])])


def _official_cli(name: str, title: str, executables: tuple[str, ...], go: GoBuild) -> Part:
    return Part(
        name,
        title,
        PULUMI,
        executables,
        go,
        archive="/releases/sdk/pulumi-v{version}-{os}-{arch}.tar.gz",
        checksums=f"https://github.com/pulumi/pulumi/releases/download/v{PULUMI}/pulumi-{PULUMI}-checksums.txt",
    )


def _plugin(name: str, version: str, go: GoBuild | None = None, standin: str | None = None) -> Part:
    release = f"https://github.com/pulumi/pulumi-{name}/releases/download/v{version}"
    return Part(
        name,
        f"{name} plugin",
        version,
        (f"pulumi-resource-{name}",),
        go,
        plugin=name,
        archive=f"/releases/plugins/pulumi-resource-{name}-v{{version}}-{{os}}-{{arch}}.tar.gz",
        checksums=f"{release}/pulumi-{name}_{version}_checksums.txt",
        standin=standin,
    )


def _bridged(name: str) -> GoBuild:
    return GoBuild("providers", f"./{name}", binary=name)


_PULUMI_VERSION = ((_VERSION_VARIABLE, f"v{PULUMI}"),)

BASE = (
    _official_cli(
        "cli",
        "Pulumi CLI",
        ("pulumi",),
        GoBuild("cli", "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi", _PULUMI_VERSION),
    ),
    _official_cli(
        "python",
        "Python language host",
        ("pulumi-language-python", "pulumi-language-python-exec"),
        GoBuild(
            "cli",
            "./pulumi-language-python",
            _PULUMI_VERSION,
            scripts=((_PULUMI_SDK, "python/cmd/pulumi-language-python-exec"),),
        ),
    ),
    _plugin("openstack", OPENSTACK, _bridged("openstack")),
    _plugin("github", GITHUB, _bridged("github")),
    _plugin("gitlab", GITLAB, standin="gitlab_plugin"),
)

OPTIONAL = (
    Part(
        "yaml",
        "YAML language host",
        YAML,
        ("pulumi-language-yaml",),
        GoBuild(
            "cli",
            "github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml",
            (("github.com/pulumi/pulumi-yaml/pkg/version.Version", f"v{YAML}"),),
        ),
    ),
    Part(
        "nodejs",
        "Node.js language host",
        PULUMI,
        ("pulumi-language-nodejs",),
        GoBuild("cli", "./pulumi-language-nodejs", _PULUMI_VERSION),
    ),
    Part(
        "actionlint",
        "actionlint",
        ACTIONLINT,
        ("actionlint",),
        GoBuild(
            "actionlint",
            "github.com/rhysd/actionlint/cmd/actionlint",
            (("github.com/rhysd/actionlint.version", ACTIONLINT),),
        ),
    ),
    Part(
        "runner",
        "GitLab Runner's configuration parser",
        RUNNER,
        ("runnerconfig",),
        GoBuild("runner", "./runnerconfig"),
    ),
)


def platform_names() -> tuple[str, str]:
    """Return the operating system and processor names as Go and Pulumi spell them."""
    machine = platform.machine().lower()
    arch = {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)
    return ("darwin" if sys.platform == "darwin" else "linux"), arch
