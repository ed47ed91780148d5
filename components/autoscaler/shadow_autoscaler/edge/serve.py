"""Runs the server until it is told to stop: TERM and INT end it gracefully."""

import asyncio
import logging
import signal
import socket
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass

import uvicorn
from starlette.applications import Starlette

from shadow_autoscaler.edge.config import Config
from shadow_autoscaler.edge.identity import Identity
from shadow_autoscaler.edge.intake import Intake
from shadow_autoscaler.edge.logs import configure
from shadow_autoscaler.edge.metrics import Metrics
from shadow_autoscaler.edge.web import app
from shadow_autoscaler.edge.wiring import Base, service
from shadow_autoscaler.runtime.service import Service, World
from shadow_autoscaler.runtime.steady import steady

_log = logging.getLogger(__name__)
GRACE_S = 25
"""How long requests and steps in progress may take after the signal to stop."""


@dataclass(frozen=True, slots=True)
class Running:
    """A server whose machine runs and whose socket listens; requests are answered while `web` serves."""

    web: uvicorn.Server
    listener: socket.socket
    machine: Service

    @property
    def port(self) -> int:
        """The TCP port."""
        return int(self.listener.getsockname()[1])

    async def answer(self) -> None:
        """Answer requests until `web.should_exit`."""
        await self.web.serve(sockets=[self.listener])


@contextmanager
def running(base: Base, outside: World | None = None) -> Generator[Running]:
    """Start everything but the answering of requests, and end it gracefully."""
    metrics = Metrics()
    with _listener(base.config) as listener, closing(Identity(base.database())) as identity:
        machine = service(base, observers=(metrics,), outside=outside, owner=identity.name, steady=steady)
        intake = Intake(base.store, machine.wake_inbox)
        web = uvicorn.Server(_settings(base, app.build(base, machine, intake, metrics)))
        intake.start()
        machine.start()
        try:
            yield Running(web, listener, machine)
        finally:
            intake.stop()
            graceful = machine.stop(GRACE_S)
            _log.info("stopped", extra={"graceful": graceful})


def serve(base: Base, *, level: str = "INFO", outside: World | None = None) -> int:
    """Serve until TERM or INT; return the exit code. `outside` replaces the adapters, in tests."""
    configure(base.redactor, level)
    with running(base, outside) as server:
        _log.info("listening", extra={"host": base.config.listen.host, "port": server.port})
        _outlive_signals()
        asyncio.run(server.answer())
    return 0


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


@contextmanager
def _listener(config: Config) -> Generator[socket.socket]:
    listen = config.listen
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((listen.host, listen.port))
        listener.listen(2048)
        yield listener
