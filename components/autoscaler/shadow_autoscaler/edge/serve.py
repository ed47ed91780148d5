"""Runs the server until it is told to stop: TERM and INT end it gracefully."""

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from shadow_autoscaler.edge.intake import Intake
from shadow_autoscaler.edge.logs import configure
from shadow_autoscaler.edge.metrics import Metrics
from shadow_autoscaler.edge.web import app
from shadow_autoscaler.edge.wiring import Base, service
from shadow_autoscaler.runtime.service import World

_log = logging.getLogger(__name__)
GRACE_S = 25
"""How long requests and steps in progress may take after the signal to stop."""


def serve(
    base: Base,
    *,
    level: str = "INFO",
    outside: World | None = None,
    port_file: Path | None = None,
    started: Callable[[], None] = lambda: None,
) -> int:
    """Serve until stopped; return the exit code. `outside` replaces the adapters, in tests."""
    configure(base.redactor, level)
    metrics = Metrics()
    machine = service(base, observers=(metrics,), outside=outside)
    intake = Intake(base.store, machine.wake_inbox)
    listener = _listen(base.config.listen.host, base.config.listen.port)
    port = listener.getsockname()[1]
    server = uvicorn.Server(_settings(base, app.build(base, machine, intake, metrics)))
    intake.start()
    machine.start()
    _log.info("listening", extra={"host": base.config.listen.host, "port": port})
    if port_file is not None:
        port_file.write_text(str(port))
    started()
    _outlive_signals()
    try:
        asyncio.run(server.serve(sockets=[listener]))
    finally:
        intake.stop()
        graceful = machine.stop(GRACE_S)
        _log.info("stopped", extra={"graceful": graceful})
    return 0 if graceful else 1


def _outlive_signals() -> None:
    """Have the process survive the signals that uvicorn raises anew after its own graceful end."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: None)


def _settings(base: Base, application: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        proxy_headers=True,
        forwarded_allow_ips=list(base.config.listen.trusted_proxies),
        timeout_graceful_shutdown=GRACE_S,
        timeout_keep_alive=75,
        h11_max_incomplete_event_size=64 * 1024,
    )


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(2048)
    return listener
