"""`repair`: sets rows of the store aside that cannot be read, so that deciding can go on."""

import argparse
import json
import os
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from shadow_autoscaler.adapters.state_rows import Damaged, Mendable
from shadow_autoscaler.edge.cli.codes import CommandError, Exit
from shadow_autoscaler.edge.cli.opening import base, emit
from shadow_autoscaler.edge.wiring import Base
from shadow_autoscaler.ports import Store

LEASE_S = 60.0


def repair(options: argparse.Namespace) -> int:
    """Show the rows; without `--dry-run` keep them in a file and take them out."""
    with base(options) as opened:
        store = opened.store
        found: Sequence[Damaged] = store.damaged() if isinstance(store, Mendable) else ()
        file = None
        if found and not options.dry_run and isinstance(store, Mendable):
            with _nobody_decides(store):
                file = _kept(opened, found)
                store.set_aside(found)
    if options.json:
        emit({"rows": [str(one) for one in found], "kept_in": str(file) if file else None})
    else:
        sys.stdout.write(_told(found, file) + "\n")
    return Exit.ATTENTION if found and options.dry_run else Exit.OK


@contextmanager
def _nobody_decides(store: Store) -> Generator[None]:
    """Hold the lease: whoever has it can read the rows, so that this program is the one that cannot."""
    if not store.lease(f"repair:{os.getpid()}", LEASE_S, time.time()):
        text = (
            "a server decides on this store, so it can read every row; use the command of its version, "
            "or stop it first if it has only just begun"
        )
        raise CommandError(Exit.FAILED, text)
    try:
        yield
    finally:
        store.lease("", 0.0, time.time())


def _told(found: Sequence[Damaged], file: Path | None) -> str:
    if not found:
        return "every row can be read"
    lines = [str(one) for one in found]
    if file is None:
        return "\n".join([*lines, "`shadow-autoscaler repair` sets them aside"])
    last = f"{len(found)} row(s) kept in {file} and set aside; the server goes on within seconds"
    return "\n".join([*lines, last])


def _kept(opened: Base, found: Sequence[Damaged]) -> Path:
    """Write the rows to a file of their own, for the owner alone."""
    beside = opened.database() or opened.folder / "state"
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    file = beside.with_name(f"{beside.name}.set-aside-{now}.jsonl")
    with os.fdopen(
        os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600), "w", encoding="utf-8"
    ) as out:
        for one in found:
            row = one.row
            text = row.body if isinstance(row.body, str) else row.body.decode("utf-8", "backslashreplace")
            line = {"kind": row.kind, "key": row.key, "name": row.name, "body": text, "reason": one.reason}
            out.write(json.dumps(line) + "\n")
    return file
