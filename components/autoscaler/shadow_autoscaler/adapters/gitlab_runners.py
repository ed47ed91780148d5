"""Machines at GitLab: a pool's runner has one token, and each machine that uses it is one of its managers."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from pydantic import BaseModel

from shadow_autoscaler.adapters.gitlab_client import CallError, GitLabClient, Secret, understood
from shadow_autoscaler.adapters.gitlab_payloads import Job, Number
from shadow_autoscaler.adapters.recent import Recent
from shadow_autoscaler.core.events import Removal, Runner
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError

_KEPT_NAMES: Final = 10_000
_BUSY_STATES: Final = ("running", "canceling")


def system_id_of(runner_name: str) -> str:
    """The ID under which a machine of that name is to call GitLab, as `.runner_system_id` holds it.

    GitLab Runner takes `r_` and twelve letters or digits from that file and would draw others by itself;
    derived from the name, they tell after any restart whose machine a manager is.
    """
    return "r_" + hashlib.sha256(runner_name.encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class RunnerToken:
    """A pool's runner, made by the stack."""

    token: Secret = field(repr=False)
    """Authentication token, `glrt-…`."""
    runner_id: int | None = None
    """Its ID; GitLab is asked once when not given."""


class _Id(BaseModel):
    id: Number


class _Manager(BaseModel):
    system_id: str
    status: str = ""
    job_execution_status: str = ""


@dataclass(slots=True)
class Names:
    """Runner names by system ID: those of `known`, which the state holds, and those given out here."""

    known: Callable[[], Iterable[str]] | None = None
    _given: Recent[str, str] = field(default_factory=lambda: Recent[str, str](_KEPT_NAMES))

    def add(self, name: str) -> str:
        """Remember a name; return its system ID."""
        system_id = system_id_of(name)
        self._given.put(system_id, name)
        return system_id

    def table(self) -> Mapping[str, str]:
        """All names by system ID."""
        known = self.known() if self.known else ()
        return {system_id_of(name): name for name in known} | self._given.copy()

    def of(self, system_id: str) -> str:
        """Name of a machine; its system ID where it is none of ours, empty where we cannot tell."""
        found = self._given.get(system_id) or self.table().get(system_id)
        return found or (system_id if self.known else "")


@dataclass(slots=True)
class Runners:
    """The pools' runners and their managers."""

    client: GitLabClient
    tokens: Mapping[str, RunnerToken]
    names: Names
    name_prefix: str
    _ids: dict[str, int] = field(default_factory=dict[str, int])

    def token(self, pool: str) -> str:
        """A pool's authentication token.

        Raises:
            PortError: CONFIG where the pool has none, or one of the old kind.
        """
        if pool not in self.tokens:
            text = f"gitlab.runner_tokens.{pool} is missing; name the secret with the token of its runner"
            raise PortError(Failure(FailureKind.CONFIG, text))
        token = self.tokens[pool].token().strip()
        if not token.startswith("glrt-"):
            text = f"gitlab.runner_tokens.{pool} is no authentication token (`glrt-…`) of a runner"
            raise PortError(Failure(FailureKind.CONFIG, text))
        return token

    def listed(self) -> list[Runner]:
        """All managers of the pools' runners, one call per pool and hundred machines."""
        table = self.names.table()
        return [
            self._runner(pool, manager, table) for pool in self.tokens for manager in self._managers(pool)
        ]

    def remove(self, name: str, system_id: str) -> Removal:
        """Remove the manager of that name, unless a job runs on it."""
        wanted = system_id or system_id_of(name)
        for pool in self._pools_of(name):
            if self._busy(pool, wanted):
                return Removal.BUSY
            if self._delete(pool, wanted):
                break
        return Removal.GONE

    def _pools_of(self, name: str) -> list[str]:
        """The pool in the name; all, where it does not say."""
        own = [pool for pool in self.tokens if name.startswith(f"{self.name_prefix}-{pool}-")]
        return sorted(own, key=len, reverse=True) or list(self.tokens)

    def _runner(self, pool: str, manager: _Manager, table: Mapping[str, str]) -> Runner:
        name = table.get(manager.system_id, manager.system_id)
        online, busy = manager.status == "online", manager.job_execution_status == "active"
        return Runner(self._id(pool), name, online=online, busy=busy, system_id=manager.system_id)

    def _managers(self, pool: str) -> list[_Manager]:
        return list(self.client.listed(f"/runners/{self._id(pool)}/managers", _Manager))

    def _busy(self, pool: str, system_id: str) -> bool:
        path = f"/runners/{self._id(pool)}/jobs"
        return any(
            job.system_id == system_id
            for state in _BUSY_STATES
            for job in self.client.listed(path, Job, system_id=system_id, status=state)
        )

    def _delete(self, pool: str, system_id: str) -> bool:
        body = {"token": self.token(pool), "system_id": system_id}
        try:
            self.client.write("delete", "/runners/managers", body)
        except CallError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            return False
        return True

    def _id(self, pool: str) -> int:
        given = self.tokens[pool].runner_id
        if given is not None:
            return given
        if pool not in self._ids:
            path = "/runners/verify"
            answer = self.client.write("post", path, {"token": self.token(pool)})
            self._ids[pool] = understood(_Id, answer, path).id
        return self._ids[pool]
