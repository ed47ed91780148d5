"""Sessions in a store: each a file of its own, found by what makes numbers comparable."""

import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import quote

from shadow_perfgate import codec
from shadow_perfgate.baseline.store import ExistsError, Store
from shadow_perfgate.errors import InputError, NewerError, StoreError
from shadow_perfgate.model import METRICSET_VERSION, Fingerprint, Session, Workload

_TRIES = 5
_TIME = "%Y%m%dT%H%M%SZ"
_SHOWN = 12
"""Digits of a commit in a file's name."""
_NAME = re.compile(r"\d{8}T\d{6}Z-[0-9A-Za-z]+-[0-9A-Za-z]+\.json")


@dataclass(frozen=True, slots=True)
class Key:
    """Where comparable sessions lie."""

    project: str
    branch: str
    """`main`, or `mr/<number>`."""
    fingerprint: str
    workload: str

    @classmethod
    def of(cls, project: str, branch: str, fingerprint: Fingerprint, workload: Workload) -> "Key":
        """Return the key of sessions measured like that."""
        return cls(project, branch, fingerprint.digest, workload.digest)

    @property
    def prefix(self) -> str:
        """Return the folder in the store, with a slash at the end."""
        folder = branch_prefix(self.project, self.branch)
        return f"{folder}{self.fingerprint}/{self.workload}/v{METRICSET_VERSION}/sessions/"


@dataclass(frozen=True, slots=True)
class Entry:
    """One session in a store, by its name alone."""

    name: str

    @property
    def id(self) -> str:
        """Return the session's id, which is its file's name."""
        return self.name.rsplit("/", 1)[-1].removesuffix(".json")

    @property
    def commit(self) -> str:
        """Return the first digits of the commit that was measured."""
        return self.name.rsplit("/", 1)[-1].split("-")[1]

    @property
    def time(self) -> datetime:
        """Return when it was stored (UTC)."""
        stamp = self.name.rsplit("/", 1)[-1].split("-")[0]
        return datetime.strptime(stamp, _TIME).replace(tzinfo=UTC)


def branch_prefix(project: str, branch: str) -> str:
    """Return the folder of all sessions of a branch."""
    return f"{quote(project or 'default', safe='')}/{quote(branch, safe='')}/"


def file_name(now: datetime, commit: str, token: str) -> str:
    """Return the name of a session's file, without its ending: `<UTC time>-<commit>-<token>`."""
    # The commit is text of the session's writer: it may neither leave the folder nor hide the session.
    return f"{now.strftime(_TIME)}-{re.sub(r'[^0-9A-Za-z]', '', commit)[:_SHOWN] or 'unknown'}-{token}"


def append(store: Store, session: Session, branch: str, now: datetime) -> Session:
    """Store `session` below `branch` and return it with its id; an existing one is never touched."""
    key = Key.of(session.project, branch, session.fingerprint, session.workload)
    for _ in range(_TRIES):
        name = file_name(now, session.commit, secrets.token_hex(4))
        stored = replace(session, id=name, branch=branch, created=session.created or now.isoformat())
        try:
            store.create({f"{key.prefix}{name}.json": codec.dumps(stored).encode()})
        except ExistsError:
            continue
        return stored
    raise StoreError(
        f"{key.prefix}: {_TRIES} new names were all taken; is the store's clock or listing broken?"
    )


def add_once(store: Store, session: Session, branch: str, now: datetime) -> tuple[Session, bool]:
    """Store a session that was measured elsewhere; return it and whether it is new.

    The same content, or one that came out of this store, is there already: counted twice it would weigh
    double and hide how sessions vary.
    """
    key = Key.of(session.project, branch, session.fingerprint, session.workload)
    digest = sha256(codec.dumps(replace(session, id="", branch="")).encode()).hexdigest()[:16]
    known = _same(store, key, digest, session.id)
    if known:
        return replace(session, id=known[0].id, branch=branch), False
    name = file_name(now, session.commit, digest)
    stored = replace(session, id=name, branch=branch, created=session.created or now.isoformat())
    with suppress(ExistsError):
        store.create({f"{key.prefix}{name}.json": codec.dumps(stored).encode()})
    first, *twins = _same(store, key, digest, name)
    # Another job added the same at the same time: all keep the first.
    store.delete(twin.name for twin in twins)
    return replace(stored, id=first.id), first.id == name


def _same(store: Store, key: Key, digest: str, known: str) -> list[Entry]:
    return [e for e in entries(store, key.prefix) if e.id == known or e.id.endswith(f"-{digest}")]


def entries(store: Store, prefix: str) -> list[Entry]:
    """Return the sessions below `prefix`, oldest first."""
    found = [Entry(name) for name in store.names(prefix) if _is_session(name)]
    return sorted(found, key=lambda entry: entry.name.rsplit("/", 1)[-1])


def readable(store: Store, found: Iterable[Entry]) -> tuple[list[Session], dict[str, str]]:
    """Read sessions from the store, in the given order; return them and the fault of each damaged file."""
    whole: list[Session] = []
    damaged: dict[str, str] = {}
    for name, content in store.read(entry.name for entry in found):
        try:
            whole.append(_loaded(name, content))
        except StoreError as error:
            damaged[name] = str(error)
    return whole, damaged


def load(store: Store, found: Iterable[Entry]) -> list[Session]:
    """Read sessions from the store, in the given order; raise `StoreError` for one that is damaged."""
    return [_loaded(name, content) for name, content in store.read(e.name for e in found)]


def _loaded(name: str, content: bytes) -> Session:
    try:
        return codec.loads(content, name, own=True)
    except NewerError as error:
        raise StoreError(f"stored session: {error}") from None
    except InputError as error:
        raise StoreError(f"stored session is damaged: {error.faults[0]}; remove that file") from None


def _is_session(name: str) -> bool:
    if _NAME.fullmatch(name.rsplit("/", 1)[-1]) is None:
        return False
    try:
        Entry(name).time  # noqa: B018 - a month 13 is no name of ours
    except ValueError:
        return False
    return True
