"""AWS on loopback for the suites that want it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def aws() -> Iterator[Callable[[str], Any]]:
    """Clients of a moto server of this session, by service name; real HTTP on 127.0.0.1."""
    import boto3  # noqa: PLC0415 (no other suite needs it)
    from moto.server import ThreadedMotoServer  # noqa: PLC0415

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()

    def client(service: str) -> Any:
        return boto3.client(
            service,
            region_name="eu-west-3",
            endpoint_url=f"http://{host}:{port}",
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

    yield client
    server.stop()
