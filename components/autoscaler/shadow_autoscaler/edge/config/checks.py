"""What no single key can show: sections that must fit each other."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from shadow_autoscaler.edge.config.faults import Fault
from shadow_autoscaler.edge.config.kinds import span
from shadow_autoscaler.edge.config.model import GitHub, GitLab, Secrets, Store
from shadow_autoscaler.edge.config.pools import Pool

_PLACEHOLDERS = ("@SHADOW_VM@", "@SHADOW_TICKET@", "@SHADOW_CALLBACK@")
USER_DATA_LIMIT = 65_535
"""Bytes of base64 that Nova takes."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The sections that were readable on their own; the others are None and named in `present`."""

    present: frozenset[str]
    pools: Sequence[tuple[int, Pool]]
    github: GitHub | None
    gitlab: GitLab | None
    store: Store | None
    secrets: Secrets | None


def crossed(parts: Parts) -> Iterator[Fault]:
    """Yield the faults between keys."""
    yield from _forges(parts)
    yield from _pools(parts)
    if parts.github:
        yield from _github(parts.github)
    if parts.gitlab:
        yield from _gitlab(parts.gitlab, parts.pools)
    if parts.store:
        yield from _needs("store", parts.store.kind, {"sqlite": "path", "dynamodb": "table"}, parts.store)
    if parts.secrets:
        yield from _needs("secrets", parts.secrets.kind, {"files": "directory"}, parts.secrets)


def templates(pools: Sequence[tuple[int, Pool]], folder: Path) -> Iterator[Fault]:
    """Yield the faults of the pools' user-data files."""
    for index, pool in pools:
        key = f"pools[{index}].user_data_file"
        try:
            text = pool.template(folder).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8"
            yield Fault(key, f"got {pool.user_data_file!r} ({reason})", "a readable file", "write it there")
            continue
        yield from _template(key, text)


def _template(key: str, text: str) -> Iterator[Fault]:
    missing = [name for name in _PLACEHOLDERS if name not in text]
    if missing:
        yield Fault(key, f"no {', '.join(missing)} in it", "every placeholder", "render it anew")
    size = (len(text.encode()) + 200 + 2) // 3 * 4
    if size > USER_DATA_LIMIT:
        yield Fault(
            key, f"got {size} bytes of base64", f"at most {USER_DATA_LIMIT}", "shorten the boot scripts"
        )


def _needs(section: str, kind: str, needed: dict[str, str], values: object) -> Iterator[Fault]:
    name = needed.get(kind)
    if name and not getattr(values, name):
        yield Fault(f"{section}.{name}", "missing", "a value", f"add it: {section}.kind is {kind}")


def _forges(parts: Parts) -> Iterator[Fault]:
    for forge in ("github", "gitlab"):
        users = [pool.name for _, pool in parts.pools if pool.forge == forge]
        if users and forge not in parts.present:
            yield Fault(forge, "missing", "a section", f"add it: pool {users[0]!r} serves {forge}")


def _pools(parts: Parts) -> Iterator[Fault]:
    counts = Counter(pool.name for _, pool in parts.pools)
    for index, pool in parts.pools:
        key = f"pools[{index}]"
        if counts[pool.name] > 1:
            yield Fault(f"{key}.name", f"got {pool.name!r} twice", "names that differ", "rename one")
        yield from _limits(key, pool)


def _limits(key: str, pool: Pool) -> Iterator[Fault]:
    for number, window in enumerate(pool.idle):
        where = f"{key}.idle[{number}]"
        if window.count > pool.max:
            yield Fault(f"{where}.count", f"got {window.count}", f"at most max, {pool.max}", "lower it")
        if window.start == window.end:
            yield Fault(
                f"{where}.end",
                f"got {window.end!r}",
                "another time than start",
                "00:00 to 24:00 is all day",
            )
    needed = pool.boot_timeout + pool.pickup_timeout
    if pool.max_lifetime < needed:
        got = f"got {span(pool.max_lifetime)}"
        expected = f"at least boot_timeout and pickup_timeout together, {span(needed)}"
        yield Fault(f"{key}.max_lifetime", got, expected, "raise it, or lower those")
    if pool.forge == "gitlab" and pool.runner_group:
        yield Fault(f"{key}.runner_group", f"got {pool.runner_group!r}", "none for GitLab", "remove it")
    folded = [label.casefold() for label in pool.labels]
    if len(set(folded)) < len(folded):
        yield Fault(f"{key}.labels", "a label twice", "labels that differ in more than case", "remove one")


def _github(section: GitHub) -> Iterator[Fault]:
    if bool(section.token) == bool(section.app_id):
        got = "both token and app_id" if section.token else "neither token nor app_id"
        yield Fault("github", f"got {got}", "one of them", "give app_id and private_key, or token")
    if section.app_id and not section.private_key:
        yield Fault("github.private_key", "missing", "a secret's name", "add it: app_id needs the App's key")
    if section.runners == "repository" and not section.repositories:
        yield Fault("github.repositories", "missing", "at least one", "name them")
    for index, name in enumerate(section.repositories):
        if "/" in name:
            yield Fault(f"github.repositories[{index}]", f"got {name!r}", "a name", "leave the owner out")


def _gitlab(section: GitLab, pools: Sequence[tuple[int, Pool]]) -> Iterator[Fault]:
    if not section.webhook_token and not section.signing_secret:
        yield Fault("gitlab", "no webhook_token and no signing_secret", "one of them", "name its secret")
    served = {pool.name for _, pool in pools if pool.forge == "gitlab"}
    for name in sorted(served - set(section.runner_tokens)):
        yield Fault(f"gitlab.runner_tokens.{name}", "missing", "a secret's name", "add it")
    for name in sorted(set(section.runner_tokens) - {pool.name for _, pool in pools}):
        yield Fault(
            f"gitlab.runner_tokens.{name}",
            "got an unknown pool",
            "a pool's name",
            "remove it or fix the name",
        )
