"""Drives the plugin as Pulumi's engine does: starts the process, reads the port, speaks gRPC."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import grpc
from gitlab_plugin.server import serve
from google.protobuf.struct_pb2 import Struct
from pulumi.provider.experimental.property_value import PropertyValue
from pulumi.runtime import rpc
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc, status_pb2

ENGINE = Path(__file__).parents[3] / "engine"
UNKNOWN = object()


class PluginClient:
    """The plugin's service and its calls, with plain Python values."""

    def __enter__(self) -> Self:
        self._server, port = serve()
        self._connect(port)
        return self

    def _connect(self, port: int) -> None:
        self._channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        self.stub = provider_pb2_grpc.ResourceProviderStub(self._channel)

    def __exit__(self, *_: object) -> None:
        self._channel.close()
        self._server.stop(None).wait()

    def configure(self, **args: Any) -> None:
        self.stub.Configure(provider_pb2.ConfigureRequest(args=struct(args), acceptSecrets=True))

    def check(self, token: str, news: dict[str, Any], olds: dict[str, Any] | None = None) -> Any:
        return self.stub.Check(
            provider_pb2.CheckRequest(
                urn=urn(token), news=struct(news), olds=struct(olds or {}), randomSeed=b"seed"
            )
        )

    def checked(self, token: str, news: dict[str, Any]) -> dict[str, Any]:
        answer = self.check(token, news)
        assert not list(answer.failures), answer.failures
        return plain(answer.inputs)

    def faults(self, token: str, news: dict[str, Any]) -> dict[str, str]:
        return {failure.property: failure.reason for failure in self.check(token, news).failures}

    def create(self, token: str, inputs: dict[str, Any], *, preview: bool = False) -> Any:
        return self.stub.Create(
            provider_pb2.CreateRequest(urn=urn(token), properties=struct(inputs), preview=preview)
        )

    def made(self, token: str, inputs: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        answer = self.create(token, self.checked(token, inputs))
        return answer.id, plain(answer.properties)

    def read(self, token: str, resource_id: str, state: dict[str, Any], inputs: dict[str, Any]) -> Any:
        return self.stub.Read(
            provider_pb2.ReadRequest(
                id=resource_id, urn=urn(token), properties=struct(state), inputs=struct(inputs)
            )
        )

    def diff(
        self, token: str, state: dict[str, Any], news: dict[str, Any], ignore: list[str] | None = None
    ) -> Any:
        return self.stub.Diff(
            provider_pb2.DiffRequest(
                id="1", urn=urn(token), olds=struct(state), news=struct(news), ignoreChanges=ignore or []
            )
        )

    def update(
        self, token: str, resource_id: str, olds: dict[str, Any], news: dict[str, Any]
    ) -> dict[str, Any]:
        answer = self.stub.Update(
            provider_pb2.UpdateRequest(id=resource_id, urn=urn(token), olds=struct(olds), news=struct(news))
        )
        return plain(answer.properties)

    def delete(self, token: str, resource_id: str, state: dict[str, Any]) -> None:
        self.stub.Delete(provider_pb2.DeleteRequest(id=resource_id, urn=urn(token), properties=struct(state)))

    def invoke(self, token: str, args: dict[str, Any]) -> dict[str, Any]:
        answer = self.stub.Invoke(provider_pb2.InvokeRequest(tok=token, args=struct(args)))
        return plain(getattr(answer, "return"))


class PluginProcess(PluginClient):
    """The same in a process of its own, started as the engine starts it."""

    def __init__(self, engine: str = "127.0.0.1:1") -> None:
        self.engine = engine

    def __enter__(self) -> Self:
        env = {k: v for k, v in os.environ.items() if not k.startswith("GITLAB_")}
        self._process = subprocess.Popen(
            [sys.executable, str(ENGINE / "gitlab_plugin" / "pulumi-resource-gitlab"), self.engine],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
        )
        assert self._process.stdout is not None
        self._connect(int(self._process.stdout.readline()))
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()
        self._process.terminate()
        _, self.stderr = self._process.communicate(timeout=30)


def urn(token: str) -> str:
    return f"urn:pulumi:dev::acme::acme:index:Parent${token}::thing"


def struct(values: dict[str, Any]) -> Struct:
    return PropertyValue.marshal_map({name: _wire(value) for name, value in values.items()})


def plain(fields: Struct) -> dict[str, Any]:
    return {name: _plain(value) for name, value in PropertyValue.unmarshal_map(fields).items()}


def secret_names(fields: Struct) -> set[str]:
    return {name for name, value in PropertyValue.unmarshal_map(fields).items() if value.is_secret}


def half_made(error: grpc.RpcError) -> provider_pb2.ErrorResourceInitFailed:
    """The state that the engine keeps of an object whose creation failed half-way."""
    details = dict(error.trailing_metadata())["grpc-status-details-bin"]
    status = status_pb2.Status.FromString(details)
    found = provider_pb2.ErrorResourceInitFailed()
    assert status.details[0].Unpack(found)
    return found


class Secret:
    """Marks an input as secret."""

    def __init__(self, value: str) -> None:
        self.value = value


def _wire(value: Any) -> PropertyValue:
    if value is UNKNOWN:
        return PropertyValue(rpc.UNKNOWN)
    if isinstance(value, Secret):
        return PropertyValue(value.value, is_secret=True)
    if isinstance(value, list):
        return PropertyValue([_wire(item) for item in value])
    if isinstance(value, dict):
        return PropertyValue({key: _wire(item) for key, item in value.items()})
    if isinstance(value, int) and not isinstance(value, bool):
        return PropertyValue(float(value))
    return PropertyValue(value)


def _plain(value: PropertyValue) -> Any:
    inner = value.value
    if inner == rpc.UNKNOWN:
        return UNKNOWN
    if isinstance(inner, (list, tuple)):
        return [_plain(item) for item in inner]
    if hasattr(inner, "items"):
        return {key: _plain(item) for key, item in inner.items()}
    return inner
