"""Registrations of runners at GitHub: minted for one job, listed, removed."""

import base64
import binascii
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from shadow_autoscaler.adapters.event_errors import items, sentence
from shadow_autoscaler.adapters.github_client import REGISTRATION, CallError, GitHubClient
from shadow_autoscaler.adapters.github_payloads import Number
from shadow_autoscaler.core.events import Removal, Runner
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError

DEFAULT_GROUP: Final = 1
"""ID of every organisation's and repository's default group."""


class _Label(BaseModel):
    name: str


class _Shown(BaseModel):
    id: Number
    name: str
    status: str = "offline"
    busy: bool = False
    labels: tuple[_Label, ...] = ()
    runner_group_id: Number | None = None

    def runner(self) -> Runner:
        return Runner(self.id, self.name, online=self.status == "online", busy=self.busy)

    def has(self, label: str) -> bool:
        return any(mine.name.casefold() == label.casefold() for mine in self.labels)


class _Minted(BaseModel):
    runner: _Shown
    encoded_jit_config: str = ""


@dataclass(slots=True)
class Groups:
    """Runner groups by name; a cached ID is looked up anew where GitHub does not know it any more."""

    _known: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])

    def find(self, client: GitHubClient, runners_path: str, name: str) -> int:
        """Return the group's ID; names are compared without regard to case.

        Raises:
            PortError: CONFIG where there is no such group, or where a repository is asked for one.
        """
        if not name:
            return DEFAULT_GROUP
        place = (runners_path, name.casefold())
        if place not in self._known:
            self._known[place] = _look_up(client, runners_path, name)
        return self._known[place]

    def forget(self, runners_path: str, name: str) -> bool:
        """Drop a cached ID; tells whether there was one."""
        return self._known.pop((runners_path, name.casefold()), None) is not None


def _look_up(client: GitHubClient, runners_path: str, name: str) -> int:
    if runners_path.startswith("/repos/"):
        text = (
            f"runner group {name!r}: repositories have none; leave it out, or register with the organisation"
        )
        raise PortError(Failure(FailureKind.CONFIG, text))
    path = runners_path.removesuffix("/runners") + "/runner-groups"
    found = {key: number for page in client.pages(path, _group_names) for key, number in page}
    by_name = {key.casefold(): number for key, number in found.items()}
    if name.casefold() not in by_name:
        text = f"runner group {name!r} is not among {', '.join(sorted(found))} (GET {path})"
        raise PortError(Failure(FailureKind.CONFIG, text))
    return by_name[name.casefold()]


def _group_names(answer: Any) -> tuple[tuple[str, int], ...]:
    return tuple((str(group["name"]), int(group["id"])) for group in items(answer["runner_groups"]))


@dataclass(frozen=True, slots=True)
class Wish:
    """What to register."""

    name: str
    labels: tuple[str, ...]
    """All of them: GitHub adds none to a JIT configuration."""
    group: str = ""


def mint(client: GitHubClient, groups: Groups, runners_path: str, wish: Wish) -> tuple[int, str]:
    """Register an ephemeral runner; return its ID and its encoded JIT configuration.

    Raises:
        PortError: CONFLICT for a name in use, UNKNOWN_OUTCOME where the runner may exist all the same,
            TRANSIENT where the answer had no usable configuration, CONFIG for a wrong group.
    """
    group = groups.find(client, runners_path, wish.group)
    try:
        answer = _generate(client, runners_path, wish, group)
    except CallError as error:
        if error.status != HTTPStatus.NOT_FOUND or not groups.forget(runners_path, wish.group):
            raise
        group = groups.find(client, runners_path, wish.group)
        answer = _generate(client, runners_path, wish, group)
    minted = _checked(answer)
    if fault := _fault(minted, wish, group):
        with contextlib.suppress(PortError):
            client.write("DELETE", f"{runners_path}/{minted.runner.id}")
        raise PortError(fault)
    return minted.runner.id, minted.encoded_jit_config


def _generate(client: GitHubClient, runners_path: str, wish: Wish, group: int) -> object:
    body = {"name": wish.name, "runner_group_id": group, "labels": list(wish.labels), "work_folder": "_work"}
    return client.write("POST", f"{runners_path}/generate-jitconfig", body, kind=REGISTRATION)


def _checked(answer: object) -> _Minted:
    try:
        return _Minted.model_validate(answer)
    except ValidationError as error:
        text = f"generate-jitconfig: the answer is not what GitHub documents: {sentence(error)}"
        raise PortError(Failure(FailureKind.UNKNOWN_OUTCOME, text[:300])) from None


def _fault(minted: _Minted, wish: Wish, group: int) -> Failure | None:
    try:
        usable = bool(base64.b64decode(minted.encoded_jit_config, validate=True))
    except binascii.Error:
        usable = False
    if not usable:
        text = f"generate-jitconfig: {wish.name}'s configuration is empty or no base64; it was removed again"
        return Failure(FailureKind.TRANSIENT, text)
    if minted.runner.runner_group_id not in {None, group}:
        text = (
            f"generate-jitconfig: {wish.name} is in group {minted.runner.runner_group_id}, not {group}; "
            "it was removed again, since other repositories might have used it"
        )
        return Failure(FailureKind.CONFIG, text)
    return None


def listed(client: GitHubClient, runners_path: str, prefix: str, mark: str) -> list[Runner]:
    """Runners whose name begins with the prefix and who carry the label that marks them as ours."""

    def read(answer: Any) -> tuple[Runner, ...]:
        return tuple(one.runner() for one in _shown(answer) if one.name.startswith(prefix) and one.has(mark))

    return [runner for page in client.pages(runners_path, read) for runner in page]


def remove(client: GitHubClient, paths: Sequence[str], name: str, number: int | None) -> Removal:
    """Remove the runner of that name; `number` saves a search, but the name says that it is the right one."""
    for path in paths:
        for found in _matches(client, path, name, number):
            if _delete(client, f"{path}/{found}") is Removal.BUSY:
                return Removal.BUSY
    return Removal.GONE


def _matches(client: GitHubClient, path: str, name: str, number: int | None) -> list[int]:
    if number is not None:
        shown = _by_number(client, path, number)
        return [shown.id] if shown and shown.name == name else []
    pages = client.pages(path, _shown, name=name)
    return [one.id for page in pages for one in page if one.name == name]


def _shown(answer: Any) -> tuple[_Shown, ...]:
    return tuple(map(_Shown.model_validate, items(answer["runners"])))


def _by_number(client: GitHubClient, path: str, number: int) -> _Shown | None:
    try:
        return client.get(f"{path}/{number}", _Shown.model_validate)
    except CallError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        return None


def _delete(client: GitHubClient, path: str) -> Removal:
    try:
        client.write("DELETE", path)
    except CallError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return Removal.GONE
        if error.status == HTTPStatus.UNPROCESSABLE_ENTITY:
            # GitHub has no other reason to refuse: the runner runs a job, or is just being given one.
            return Removal.BUSY
        raise
    return Removal.GONE
