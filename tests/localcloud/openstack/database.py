"""The database server's own files and SQL run against it."""

import os
import subprocess
from pathlib import Path
from typing import IO

from localcloud.openstack import layout
from localcloud.openstack.install import program
from localcloud.paths import log_dir
from localcloud.processes import ServiceError

_EMPTYING = (
    "SELECT CONCAT('DELETE FROM `', table_schema, '`.`', table_name, '`;') FROM information_schema.tables"
    " WHERE table_type = 'BASE TABLE'"
    " AND table_schema NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')"
)
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
    run([*_client(), "-e", sql], "db-client")


def dump(path: Path) -> None:
    """Write the rows of all databases to a file, whole or not at all.

    The file empties every table, then fills it, in one transaction; making 400 tables anew takes longer.
    """
    draft = path.with_suffix(".new")
    options = [
        "--single-transaction",
        "--no-create-db",
        "--no-create-info",
        "--skip-add-locks",
        "--skip-disable-keys",
    ]
    with draft.open("wb") as out:
        out.write(b"SET FOREIGN_KEY_CHECKS=0;\nSET UNIQUE_CHECKS=0;\nSTART TRANSACTION;\n")
        out.flush()
        run([*_client(), "--skip-column-names", "--batch", "-e", _EMPTYING], "db-dump", stdout=out)
        run(
            [
                program("mariadb-dump"),
                *_CLIENT,
                str(layout.socket()),
                *options,
                "--databases",
                *layout.DATABASES,
            ],
            "db-dump",
            stdout=out,
        )
        out.write(b"COMMIT;\n")
    draft.replace(path)


def restore(path: Path) -> None:
    """Replace all databases by those of the file."""
    with path.open("rb") as sql:
        run(_client(), "db-restore", stdin=sql)


def _client() -> list[str]:
    return [program("mariadb"), *_CLIENT, str(layout.socket())]


def run(
    command: list[str],
    log: str,
    env: dict[str, str] | None = None,
    *,
    stdin: IO[bytes] | None = None,
    stdout: IO[bytes] | None = None,
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
    if result.returncode:
        tail = "\n".join(path.read_text(errors="replace").splitlines()[-10:])
        raise ServiceError(
            f"{Path(command[0]).name} failed with exit code {result.returncode}; {path}:\n{tail}"
        )
