"""The ASGI application."""

from starlette.applications import Starlette
from starlette.routing import Route

from shadow_autoscaler.edge.callbacks import Callbacks
from shadow_autoscaler.edge.gate import Gate
from shadow_autoscaler.edge.intake import Intake
from shadow_autoscaler.edge.metrics import Metrics, StateCollector
from shadow_autoscaler.edge.web.health import Health
from shadow_autoscaler.edge.web.hooks import Hooks
from shadow_autoscaler.edge.web.status import StatusPage
from shadow_autoscaler.edge.web.vms import Vms
from shadow_autoscaler.edge.wiring import Base
from shadow_autoscaler.runtime.service import Service


def build(base: Base, service: Service, intake: Intake, metrics: Metrics) -> Starlette:
    """Return the application over a service. Its life cycle is the caller's."""
    config = base.config
    callbacks = Callbacks(
        service.engine,
        service.handover,
        base.secrets,
        config.callback_key,
        bind_address=config.listen.bind_address,
    )
    metrics.registry.register(StateCollector(service, intake.waiting))
    hooks = Hooks(config, Gate(config, base.secrets), intake, metrics)
    vms = Vms(callbacks, intake, metrics)
    health = Health(service, intake, metrics, base.secrets, config.metrics_token)
    return Starlette(
        routes=[
            Route("/webhook/github", hooks.endpoint("github"), methods=["POST"]),
            Route("/webhook/gitlab", hooks.endpoint("gitlab"), methods=["POST"]),
            Route("/vm/v1/{vm}/status", vms.status, methods=["POST"]),
            Route("/vm/v1/{vm}/config", vms.config, methods=["POST"]),
            Route("/vm/v1/{vm}/reclaim", vms.reclaim, methods=["POST"]),
            Route("/healthz", health.alive),
            Route("/readyz", health.ready),
            Route("/metrics", health.metrics),
            *StatusPage(base, service).routes(),
        ]
    )
