"""Bodies that do not come."""

import asyncio
from collections.abc import MutableMapping
from contextlib import closing
from typing import Any

import pytest
from starlette.requests import ClientDisconnect, Request

from shadow_autoscaler.edge.web import bodies


def test_a_body_that_does_not_come_holds_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "BODY_S", 0.0)

    async def never() -> MutableMapping[str, Any]:
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    async def ask() -> bytes:
        return await bodies.read(Request({"type": "http", "headers": []}, never), 100)

    with closing(asyncio.new_event_loop()) as loop, pytest.raises(ClientDisconnect):
        loop.run_until_complete(ask())
