"""The gRPC service that Pulumi's engine talks to."""

# ruff: noqa: N802, ARG002 - gRPC fixes the names and arguments of its methods

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

import grpc
from gitlab_plugin import VERSION, config
from gitlab_plugin.api import Api
from gitlab_plugin.check import check
from gitlab_plugin.diff import Change, diff
from gitlab_plugin.errors import PluginError
from gitlab_plugin.invoke import FUNCTIONS
from gitlab_plugin.lifecycle import Lifecycle, Seen, planned, previewed
from gitlab_plugin.resources import TYPES
from gitlab_plugin.resources.base import ResourceType
from gitlab_plugin.schema import schema
from gitlab_plugin.status import fails_clearly
from gitlab_plugin.values import Properties, from_struct, to_struct
from google.protobuf import empty_pb2
from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

_MESSAGE_BYTES: Final = 400 * 1024 * 1024
_THREADS: Final = 16
_Part = TypeVar("_Part")


class GitLabProvider(provider_pb2_grpc.ResourceProviderServicer):
    """Serves the resource types over one GitLab connection."""

    def __init__(self) -> None:
        self._api: Api | None = None
        self._lifecycle: Lifecycle | None = None

    def GetPluginInfo(self, request: Any, context: Any) -> plugin_pb2.PluginInfo:
        """The version that the engine compares with the SDK's."""
        return plugin_pb2.PluginInfo(version=VERSION)

    def GetSchema(self, request: Any, context: Any) -> provider_pb2.GetSchemaResponse:
        """The package schema."""
        return provider_pb2.GetSchemaResponse(schema=schema())

    def Cancel(self, request: Any, context: Any) -> empty_pb2.Empty:
        """Nothing to stop: each call is bounded by its own time limit."""
        return empty_pb2.Empty()

    def CheckConfig(self, request: Any, context: Any) -> provider_pb2.CheckResponse:
        """Report every fault of the provider's configuration."""
        _, failures = config.parse(from_struct(request.news).values)
        return _checked(request.news, failures)

    def DiffConfig(self, request: Any, context: Any) -> provider_pb2.DiffResponse:
        """A changed configuration never replaces the provider's resources."""
        olds, news = from_struct(request.olds).values, from_struct(request.news).values
        changed = sorted(name for name in olds.keys() | news.keys() if olds.get(name) != news.get(name))
        return _differs([Change(name, "UPDATE", replace=False) for name in changed])

    @fails_clearly
    def Configure(self, request: Any, context: Any) -> provider_pb2.ConfigureResponse:
        """Connect, and find out at once whether the token is accepted."""
        parsed, failures = config.parse(from_struct(request.args).values)
        if failures:
            raise PluginError(
                "gitlab provider: " + "; ".join(f"{name}: {reason}" for name, reason in failures)
            )
        if parsed.token:
            self._api = Api(parsed)
            self._lifecycle = Lifecycle(self._api)
            if parsed.early_auth_check:
                self._api.get("/user")
        return provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True, acceptResources=False)

    @fails_clearly
    def Invoke(self, request: Any, context: Any) -> provider_pb2.InvokeResponse:
        """Run a look-up function."""
        function = FUNCTIONS.get(request.tok)
        if function is None:
            raise PluginError(
                f"{request.tok}: not served by this stand-in plugin; it has {', '.join(FUNCTIONS)}"
            )
        found = function(_ready(self._api), from_struct(request.args).values)
        answer = provider_pb2.InvokeResponse()
        # The field's name is a keyword of Python.
        getattr(answer, "return").CopyFrom(to_struct(Properties(found), secrets=("runnersToken",)))
        return answer

    @fails_clearly
    def Check(self, request: Any, context: Any) -> provider_pb2.CheckResponse:
        """Complete and validate a resource's inputs."""
        inputs, failures = check(
            _kind(request.urn),
            from_struct(request.news),
            from_struct(request.olds),
            logical_name=request.urn.rsplit("::", 1)[-1],
            seed=request.randomSeed,
            proposed=request.autonaming.proposed_name,
        )
        return _checked(to_struct(inputs), failures)

    @fails_clearly
    def Diff(self, request: Any, context: Any) -> provider_pb2.DiffResponse:
        """Say which properties change, and which of them replace the object."""
        kind = _kind(request.urn)
        return _differs(
            diff(kind, from_struct(request.olds), from_struct(request.news), request.ignoreChanges)
        )

    @fails_clearly
    def Create(self, request: Any, context: Any) -> provider_pb2.CreateResponse:
        """Make the object; in a preview, say what is known of it."""
        kind, inputs = _kind(request.urn), from_struct(request.properties)
        if request.preview:
            state = previewed(kind, inputs.values)
            return provider_pb2.CreateResponse(properties=_state(kind, inputs, state))
        seen = _ready(self._lifecycle).create(kind, inputs)
        return provider_pb2.CreateResponse(
            id=seen.resource_id, properties=_state(kind, inputs, _with_id(seen))
        )

    @fails_clearly
    def Read(self, request: Any, context: Any) -> provider_pb2.ReadResponse:
        """Look the object up; an empty answer tells the engine that it is gone."""
        kind, state, inputs = _kind(request.urn), from_struct(request.properties), from_struct(request.inputs)
        seen = _ready(self._lifecycle).read(kind, request.id, state)
        if seen is None:
            return provider_pb2.ReadResponse()
        secret = Properties({}, state.secrets | inputs.secrets)
        return provider_pb2.ReadResponse(
            id=seen.resource_id,
            properties=_state(kind, secret, _with_id(seen)),
            inputs=_state(kind, secret, _seen_inputs(kind, inputs, seen.state)),
        )

    @fails_clearly
    def Update(self, request: Any, context: Any) -> provider_pb2.UpdateResponse:
        """Change the object in place."""
        kind, olds, news = _kind(request.urn), from_struct(request.olds), from_struct(request.news)
        if request.preview:
            state = {**olds.values, **planned(kind, news.values)}
        else:
            state = _ready(self._lifecycle).update(kind, request.id, olds, news)
        return provider_pb2.UpdateResponse(properties=_state(kind, news, {**state, "id": request.id}))

    @fails_clearly
    def Delete(self, request: Any, context: Any) -> empty_pb2.Empty:
        """Remove the object."""
        _ready(self._lifecycle).delete(_kind(request.urn), request.id, from_struct(request.properties))
        return empty_pb2.Empty()


def serve() -> tuple[grpc.Server, int]:
    """Start the service on a free loopback port; returns the server and its port."""
    options = [
        ("grpc.max_receive_message_length", _MESSAGE_BYTES),
        ("grpc.max_send_message_length", _MESSAGE_BYTES),
    ]
    server = grpc.server(ThreadPoolExecutor(max_workers=_THREADS), options=options)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(GitLabProvider(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port


def _kind(urn: str) -> ResourceType:
    token = urn.split("::")[2].rsplit("$", 1)[-1]
    if token not in TYPES:
        raise PluginError(f"{token}: not served by this stand-in plugin; it has {', '.join(TYPES)}")
    return TYPES[token]


def _ready(part: _Part | None) -> _Part:
    if part is None:
        raise PluginError("the provider's token is not known yet; set config gitlab:token or GITLAB_TOKEN")
    return part


def _with_id(seen: Seen) -> dict[str, Any]:
    return {**seen.state, "id": seen.resource_id}


def _state(kind: ResourceType, marked: Properties, values: dict[str, Any]) -> Struct:
    return to_struct(Properties(values, marked.secrets), secrets=kind.secrets)


def _seen_inputs(kind: ResourceType, inputs: Properties, state: dict[str, Any]) -> dict[str, Any]:
    names = set(inputs.values) or {
        f.name for f in kind.inputs if f.required or state.get(f.name) != f.default
    }
    kept = {name: value for name, value in inputs.values.items() if name not in state}
    return kept | {name: state[name] for name in names if name in state}


def _checked(inputs: Struct, failures: config.Failures) -> provider_pb2.CheckResponse:
    faults = [provider_pb2.CheckFailure(property=name, reason=reason) for name, reason in failures]
    return provider_pb2.CheckResponse(inputs=inputs, failures=faults)


def _differs(changes: list[Change]) -> provider_pb2.DiffResponse:
    some = provider_pb2.DiffResponse.DIFF_SOME if changes else provider_pb2.DiffResponse.DIFF_NONE
    kinds = provider_pb2.PropertyDiff.Kind
    return provider_pb2.DiffResponse(
        changes=some,
        diffs=[change.name for change in changes],
        replaces=[change.name for change in changes if change.replace],
        hasDetailedDiff=True,
        detailedDiff={
            change.name: provider_pb2.PropertyDiff(
                kind=kinds.Value(f"{change.kind}_REPLACE" if change.replace else change.kind), inputDiff=True
            )
            for change in changes
        },
    )
