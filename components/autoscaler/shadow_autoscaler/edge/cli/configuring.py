"""`config check | schema | reference`."""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from shadow_autoscaler.core.faults import PortError
from shadow_autoscaler.edge import adapters
from shadow_autoscaler.edge.cli.codes import Exit
from shadow_autoscaler.edge.cli.opening import emit
from shadow_autoscaler.edge.config import Config, ConfigError, Fault, describe, load
from shadow_autoscaler.edge.logs import Redactor
from shadow_autoscaler.ports import Secrets


def config(options: argparse.Namespace) -> int:
    """Check the file, or describe its form."""
    if options.action == "schema":
        sys.stdout.write(describe.schema())
        return Exit.OK
    if options.action == "reference":
        sys.stdout.write(describe.reference())
        return Exit.OK
    return _check(options)


def _check(options: argparse.Namespace) -> int:
    file = Path(options.config)
    faults: list[Fault] = []
    try:
        loaded = load(file, files=not options.no_files)
        if not options.no_files:
            faults = list(_secrets(loaded, adapters.secrets(loaded, file.parent, Redactor())))
    except ConfigError as error:
        faults = list(error.faults)
    if options.json:
        emit({"file": str(file), "faults": [asdict(fault) for fault in faults]})
    elif faults:
        sys.stderr.write(f"{ConfigError(str(file), faults)}\n")
    else:
        sys.stdout.write(f"{file} is good\n")
    return Exit.CONFIG if faults else Exit.OK


def _secrets(config: Config, source: Secrets) -> Iterator[Fault]:
    """Yield a fault for each secret that cannot be read."""
    for key, name in _named(config):
        try:
            source.get(name)
        except PortError as error:
            yield Fault(key, error.failure.text, "a readable secret", "write it there")


def _named(config: Config) -> Iterator[tuple[str, str]]:
    """Yield key and name of every secret that the configuration needs."""
    yield "callback_key", config.callback_key
    optional: list[tuple[str, str | None]] = [
        ("status_token", config.status_token),
        ("metrics_token", config.metrics_token),
    ]
    if config.github:
        section = config.github
        optional += [("github.webhook_secret", section.webhook_secret), ("github.token", section.token)]
        optional.append(("github.private_key", section.private_key))
    if config.gitlab:
        hooks = config.gitlab
        optional += [("gitlab.token", hooks.token), ("gitlab.webhook_token", hooks.webhook_token)]
        optional.append(("gitlab.signing_secret", hooks.signing_secret))
        optional += [(f"gitlab.runner_tokens.{pool}", name) for pool, name in hooks.runner_tokens.items()]
    yield from ((key, name) for key, name in optional if name)
