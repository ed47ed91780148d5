"""Secrets from a folder of files or from the environment, read anew at each use.

In a rotation the former value stays valid as `<name>.previous` (file) or `<NAME>_PREVIOUS` (environment).
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from shadow_autoscaler.core.faults import Failure, FailureKind, PortError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class FileSecrets:
    """A `Secrets` over a folder with one file per secret, as systemd credentials and mounts give them."""

    def __init__(self, folder: Path | str) -> None:
        self._folder = Path(folder)

    def get(self, name: str) -> tuple[str, ...]:
        """Return the file's text without the line end, and that of its former version where there is one."""
        path = self._folder / checked(name)
        value = self._read(path)
        if not value:
            state = "is empty" if value is not None else "does not exist"
            raise missing(name, f"the file {path} {state}; write the secret to it, mode 0600")
        former = self._read(path.with_name(f"{name}.previous"))
        return (value, former) if former else (value,)

    def _read(self, path: Path) -> str | None:
        try:
            return path.read_text(encoding="utf-8").rstrip("\r\n")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            reason = (
                "is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else (error.strerror or "fails")
            )
            raise missing(path.name, f"the file {path} cannot be read: {reason}") from None


class EnvironmentSecrets:
    """A `Secrets` over environment variables: `webhook-secret` is `<prefix>WEBHOOK_SECRET`."""

    def __init__(self, prefix: str = "SHADOW_", environment: Mapping[str, str] | None = None) -> None:
        self._prefix, self._environment = prefix, os.environ if environment is None else environment

    def get(self, name: str) -> tuple[str, ...]:
        """Return the variable's value, and that of `…_PREVIOUS` where it is set."""
        variable = self._prefix + re.sub(r"[^A-Z0-9]", "_", checked(name).upper())
        value, former = self._environment.get(variable), self._environment.get(f"{variable}_PREVIOUS")
        if not value:
            state = "empty" if value is not None else "not set"
            raise missing(name, f"the environment variable {variable} is {state}")
        return (value, former) if former else (value,)


def checked(name: str) -> str:
    """Return the name of a secret; `PortError` (CONFIG) for one that could lead out of its folder."""
    if not _NAME.fullmatch(name):
        expected = "letters, digits, '.', '_' and '-', beginning with a letter or digit, at most 128"
        raise PortError(Failure(FailureKind.CONFIG, f"secret name {name[:60]!r}: expected {expected}"))
    return name


def missing(name: str, reason: str) -> PortError:
    """Return the error for a secret that is not to be had."""
    return PortError(Failure(FailureKind.CONFIG, f"secret {name!r}: {reason}"[:300]))
