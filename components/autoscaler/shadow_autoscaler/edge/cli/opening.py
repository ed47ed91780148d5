"""Opens what a command needs, and turns failures into what the user reads."""

import argparse
import json
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from shadow_autoscaler.core.faults import PortError
from shadow_autoscaler.core.pools import Deployment
from shadow_autoscaler.core.state import State
from shadow_autoscaler.edge import config as configuration
from shadow_autoscaler.edge.adapters import deployment
from shadow_autoscaler.edge.cli.codes import CommandError, Exit
from shadow_autoscaler.edge.wiring import Base


@contextmanager
def base(options: argparse.Namespace) -> Generator[Base]:
    """Open configuration, secrets and store."""
    try:
        file = Path(options.config)
        yield Base.of(configuration.load(file), file.parent)
    except configuration.ConfigError as error:
        raise CommandError(Exit.CONFIG, str(error)) from None
    except PortError as error:
        raise CommandError(Exit.FAILED, error.failure.text) from None


def state(opened: Base) -> tuple[State, Deployment, float]:
    """Return the state, what it is decided by, and the time."""
    return opened.store.load(), deployment(opened.config, opened.templates()), time.time()


def emit(document: object) -> None:
    """Print JSON."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
