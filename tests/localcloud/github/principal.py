"""Who calls, and what a call needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

_LEVELS = ("read", "write", "admin")


@dataclass(frozen=True, slots=True)
class Access:
    """What an endpoint needs: a permission of an installation token, any of the scopes of a personal one.

    `other` is a second permission that is as good as the first.
    """

    permission: str | None = None
    level: Literal["read", "write"] = "read"
    scopes: tuple[str, ...] = ()
    kind: Literal["any", "user", "app"] = "any"
    public: bool = False
    other: str | None = None


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller; `repository_ids` None means every repository of the account."""

    kind: Literal["anonymous", "user", "app", "installation"]
    key: str
    user_id: int = 0
    app_id: int = 0
    installation_id: int = 0
    account_id: int = 0
    scopes: frozenset[str] = frozenset()
    repository_ids: frozenset[int] | None = None
    permissions: Mapping[str, str] = field(default_factory=dict[str, str])

    def may(self, access: Access) -> bool:
        """Whether token permissions (installation) or scopes (user) are enough."""
        if self.kind == "user":
            return not access.scopes or bool(self.scopes.intersection(access.scopes))
        if access.permission is None:
            return True
        granted = [self.permissions.get(name) for name in (access.permission, access.other) if name]
        return any(level and _LEVELS.index(level) >= _LEVELS.index(access.level) for level in granted)


ANONYMOUS = Principal("anonymous", "anonymous")
ANYBODY = Access(public=True)
SIGNED_IN = Access()
USER = Access(kind="user")
APP = Access(kind="app")
METADATA = Access("metadata", public=True)


def reads(permission: str, *scopes: str, public: bool = False) -> Access:
    """Read access; `public` lets anybody read it in a public repository."""
    return Access(permission, "read", scopes, public=public)


def writes(permission: str, *scopes: str) -> Access:
    """Write access."""
    return Access(permission, "write", scopes)
