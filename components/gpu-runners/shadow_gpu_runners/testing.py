"""Unit tests of programs that use these components, without an engine, a cloud or a network.

`record(program)` runs the program against a stand-in for the engine and returns every resource that it asked
for, with its inputs *and* its options (parent, provider, protect, …), which Pulumi's own mocks leave out.
"""

import enum
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard, cast

import pulumi
from pulumi.runtime import mocks, rpc

Outputs = Callable[["Registration"], Mapping[str, Any]]
"""Hook that gives a resource its computed properties."""

Answer = Callable[["Invocation"], Mapping[str, Any]]
"""Hook that gives a provider function its result."""


class Unknown(enum.Enum):
    """Type of `UNKNOWN`."""

    UNKNOWN = "unknown"


UNKNOWN = Unknown.UNKNOWN
"""Stands in a recording for a value that only a cloud can compute."""

# Pulumi's own mocks carry no usable types.
_runtime = cast("Any", pulumi.runtime)


@dataclass(frozen=True, slots=True)
class Registration:
    """One resource that the program asked for."""

    type: str
    """Type token, for example `openstack:networking/port:Port`."""

    name: str
    """Logical name."""

    urn: str
    """Uniform resource name."""

    custom: bool
    """False for a component."""

    inputs: Mapping[str, Any]
    """Inputs by their camelCase names, secrets in plain text."""

    secrets: frozenset[str]
    """Paths of the inputs that were marked secret, for example `userData`."""

    parent: str
    """URN of the parent."""

    provider: str
    """Reference (`urn::id`) of the provider; empty for a component, or where none was given."""

    protect: bool
    """Option `protect`."""

    dependencies: frozenset[str]
    """URNs that this resource waits for."""

    delete_before_replace: bool
    """Option `delete_before_replace`."""

    retain_on_delete: bool
    """Option `retain_on_delete`."""

    ignore_changes: tuple[str, ...]
    """Option `ignore_changes`, in the form the engine gets."""

    replace_on_changes: tuple[str, ...]
    """Option `replace_on_changes`, in the form the engine gets."""

    secret_outputs: frozenset[str]
    """Option `additional_secret_outputs`, in the form the engine gets."""

    timeouts: Mapping[str, str]
    """Option `custom_timeouts` by verb, empty where not set."""

    aliases: tuple[str, ...]
    """Names and URNs that the resource had before."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One provider function that the program called."""

    token: str
    """Function token, for example `openstack:compute/getFlavor:getFlavor`."""

    args: Mapping[str, Any]
    """Arguments by their camelCase names."""

    provider: str
    """Reference of the provider; empty where the default one would be used."""


@dataclass(slots=True)
class Recording:
    """What a program asked of the engine."""

    resources: list[Registration] = field(default_factory=list[Registration])
    """Resources, components included; the order is the engine's, and varies."""

    invocations: list[Invocation] = field(default_factory=list[Invocation])
    """Provider functions in the order they were called."""

    component_outputs: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Outputs that each component registered, by its URN, secrets in plain text."""

    secret_outputs: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Paths of the secret ones among them, by URN."""

    result: Any = None
    """What the program returned, resolved; None when it was unknown."""

    def named(self, name: str) -> Registration:
        """Return the one resource called `name`; raises `LookupError` with the names there are."""
        found = [known for known in self.resources if known.name == name]
        if len(found) != 1:
            names = ", ".join(sorted(known.name for known in self.resources))
            raise LookupError(f"{len(found)} resources are called {name!r}; there are: {names}")
        return found[0]

    def of_type(self, token: str) -> list[Registration]:
        """Return the resources whose type token is `token` or ends with `:token`, by name."""
        found = (known for known in self.resources if known.type == token or known.type.endswith(f":{token}"))
        return sorted(found, key=lambda known: known.name)

    def outputs_of(self, name: str) -> Mapping[str, Any]:
        """Return the outputs that the component called `name` registered."""
        return self.component_outputs[self.named(name).urn]


def record(
    program: Callable[[], Any],
    *,
    project: str = "project",
    stack: str = "stack",
    preview: bool = False,
    outputs: Outputs | None = None,
    answer: Answer | None = None,
) -> Recording:
    """Run `program` against a recording stand-in for the engine.

    Args:
        program: makes resources; a returned value is resolved and kept as `Recording.result`.
        project: the project's name.
        stack: the stack's name.
        preview: leave what a cloud would compute unknown, as `pulumi preview` does for a new stack.
        outputs: computed properties of a resource by camelCase name; its inputs are there anyway.
        answer: result of a provider function, or an exception as its failure; an empty result unless given.
    """
    # As Pulumi's own host does: a failed program leaves futures that nobody asks, which asyncio would log.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    recording = Recording()
    hooks = _Hooks(outputs or _nothing, answer or _nothing, preview)
    pulumi.runtime.set_mocks(
        hooks, project=project, stack=stack, preview=preview, monitor=_Monitor(hooks, recording)
    )

    def keep(value: Any) -> None:
        recording.result = value

    def body() -> Any:
        return pulumi.Output.from_input(program()).apply(keep)

    _runtime.test(body)()
    return recording


def _nothing(_: object) -> Mapping[str, Any]:
    return {}


class _Hooks(pulumi.runtime.Mocks):
    def __init__(self, outputs: Outputs, answer: Answer, preview: bool) -> None:
        self.outputs = outputs
        self.answer = answer
        self.preview = preview
        self.current: dict[tuple[str, str], Registration] = {}

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        computed: dict[str, Any] = {}
        registration = self.current.get((args.typ, args.name))
        if registration is not None:
            computed = dict(self.outputs(registration))
        known = computed.pop("id", None if self.preview else f"{args.name}-id")
        return (known if args.custom or args.resource_id else ""), {**cast("Any", args).inputs, **computed}

    def call(self, args: pulumi.runtime.MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        call = Invocation(args.token, _plain(cast("Any", args).args), args.provider or "")
        try:
            return dict(self.answer(call)), []
        except Exception as error:  # noqa: BLE001 - whatever the hook raises is the provider's failure
            return {}, [("", str(error))]


class _Monitor(mocks.MockMonitor):
    """Names of methods are those of the engine's gRPC service."""

    def __init__(self, hooks: _Hooks, recording: Recording) -> None:
        super().__init__(hooks)
        self.hooks = hooks
        self.recording = recording

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802
        if request.type != "pulumi:pulumi:Stack":
            urn = self.make_urn(request.parent, request.type, request.name)
            registration = _registration(request, urn)
            self.recording.resources.append(registration)
            self.hooks.current[request.type, request.name] = registration
        return cast("Any", super()).RegisterResource(request)

    def RegisterResourceOutputs(self, request: Any) -> Any:  # noqa: N802
        raw: dict[str, Any] = rpc.deserialize_properties(request.outputs)
        self.recording.component_outputs[request.urn] = _plain(raw)
        self.recording.secret_outputs[request.urn] = frozenset(_secret_paths(raw))
        return cast("Any", super()).RegisterResourceOutputs(request)

    def Invoke(self, request: Any) -> Any:  # noqa: N802
        args: dict[str, Any] = rpc.deserialize_properties(request.args)
        self.recording.invocations.append(Invocation(request.tok, _plain(args), request.provider))
        return cast("Any", super()).Invoke(request)


def _registration(request: Any, urn: str) -> Registration:
    raw: dict[str, Any] = rpc.deserialize_properties(request.object)
    timeouts = request.customTimeouts
    return Registration(
        type=request.type,
        name=request.name,
        urn=urn,
        custom=request.custom,
        inputs=_plain(raw),
        secrets=frozenset(_secret_paths(raw)),
        parent=request.parent,
        provider=request.provider,
        protect=request.protect,
        dependencies=frozenset(request.dependencies),
        delete_before_replace=request.deleteBeforeReplace,
        retain_on_delete=request.retainOnDelete,
        ignore_changes=tuple(request.ignoreChanges),
        replace_on_changes=tuple(request.replaceOnChanges),
        secret_outputs=frozenset(request.additionalSecretOutputs),
        timeouts={v: getattr(timeouts, v) for v in ("create", "update", "delete") if getattr(timeouts, v)},
        aliases=tuple(_alias(alias) for alias in request.aliases),
    )


def _alias(alias: Any) -> str:
    return str(alias.urn or alias.spec.name or alias.spec.type)


def _is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _plain(value: Any) -> Any:
    if rpc.is_rpc_secret(value):
        return _plain(rpc.unwrap_rpc_secret(value))
    if isinstance(value, pulumi.output.Unknown):
        return UNKNOWN
    if _is_object(value):
        return {key: _plain(part) for key, part in value.items()}
    if _is_list(value):
        return [_plain(part) for part in value]
    return value


def _secret_paths(value: Any, path: str = "") -> Iterator[str]:
    if rpc.is_rpc_secret(value):
        yield path
    elif _is_object(value):
        for key, part in value.items():
            yield from _secret_paths(part, f"{path}.{key}" if path else key)
    elif _is_list(value):
        for index, part in enumerate(value):
            yield from _secret_paths(part, f"{path}[{index}]")
