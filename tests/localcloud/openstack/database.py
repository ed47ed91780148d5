"""The database server's own files and SQL run against it."""

import os
import subprocess
from pathlib import Path
from typing import IO

from localcloud.openstack import layout
from localcloud.openstack.install import program
from localcloud.paths import log_dir
from localcloud.processes import ServiceError

_CLIENT = ("--no-defaults", "-uroot", "-S")


def initialise() -> None:
    """Make the server's files unless they exist.

    Raises:
        ServiceError: the path of the socket is too long for the system, or MariaDB failed.
    """
    if len(str(layout.socket())) > 100:
        raise ServiceError(
            f"{layout.socket()} is longer than the 100 characters a socket may have: "
            "set SHADOW_LOCALCLOUD_HOME to a shorter path."
        )
    if (layout.data() / "mysql" / "mysql").is_dir():
        return
    user = ["--user=root"] if os.geteuid() == 0 else []
    options = [f"--datadir={layout.data() / 'mysql'}", "--auth-root-authentication-method=normal"]
    sizes = ["--skip-test-db", "--innodb-log-file-size=32M"]
    run([program("mariadb-install-db"), "--no-defaults", *user, *options, *sizes], "db-install")


def execute(sql: str) -> None:
    """Run SQL statements as the database's root."""
    run([program("mariadb"), *_CLIENT, str(layout.socket()), "-e", sql], "db-client")


def dump(path: Path) -> None:
    """Write all databases of the control plane to a file, whole or not at all."""
    draft = path.with_suffix(".new")
    options = ["--single-transaction", "--add-drop-database", "--databases", *layout.DATABASES]
    with draft.open("wb") as out:
        run([program("mariadb-dump"), *_CLIENT, str(layout.socket()), *options], "db-dump", stdout=out)
    draft.replace(path)


def restore(path: Path) -> None:
    """Replace all databases by those of the file."""
    with path.open("rb") as sql:
        run([program("mariadb"), *_CLIENT, str(layout.socket())], "db-restore", stdin=sql)


def run(
    command: list[str],
    log: str,
    env: dict[str, str] | None = None,
    *,
    stdin: IO[bytes] | None = None,
    stdout: IO[bytes] | None = None,
    accept: tuple[int, ...] = (0,),
) -> None:
    """Run a program to its end, output to `setup-<log>.log`.

    Raises:
        ServiceError: it failed; the end of its output is part of the text.
    """
    log_dir().mkdir(parents=True, exist_ok=True)
    path = log_dir() / f"setup-{log}.log"
    with path.open("ab") as out:
        result = subprocess.run(
            command,
            env={**os.environ, **(env or {})},
            stdin=stdin or subprocess.DEVNULL,
            stdout=stdout or out,
            stderr=out,
            check=False,
        )
    if result.returncode not in accept:
        tail = "\n".join(path.read_text(errors="replace").splitlines()[-10:])
        raise ServiceError(
            f"{Path(command[0]).name} failed with exit code {result.returncode}; {path}:\n{tail}"
        )
