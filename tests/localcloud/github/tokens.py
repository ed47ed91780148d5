"""Access tokens: issued here, found by their hash, never readable again from the state."""

import hashlib
import secrets
import string

from localcloud.github.principal import ANONYMOUS, Principal
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc

ALL_SCOPES = (
    "admin:org",
    "admin:org_hook",
    "admin:repo_hook",
    "repo",
    "workflow",
    "user",
    "delete_repo",
)
_ALPHABET = string.ascii_letters + string.digits


def random_text(length: int) -> str:
    """Random letters and digits."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


def digest(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def issue(sim: Simulator, token: str, **owner: object) -> Doc:
    """Keep a token's hash with what it stands for."""
    return sim.store.save("token", {"key": digest(token), **owner})


def lookup(sim: Simulator, token: str) -> Principal | None:
    """The caller that a token stands for; None where it is unknown or has expired."""
    doc = sim.store.get("token", digest(token))
    if doc is None or doc.get("expires_at", float("inf")) <= sim.clock.now():
        return None
    return _user(doc) if doc["kind"] == "user" else _installation(sim, doc)


def _user(doc: Doc) -> Principal:
    return Principal(
        "user", f"user ID {doc['user_id']}", user_id=doc["user_id"], scopes=frozenset(doc["scopes"])
    )


def _installation(sim: Simulator, doc: Doc) -> Principal | None:
    if doc["installation_id"] and sim.store.get("installation", doc["installation_id"]) is None:
        return None
    chosen = doc["repository_ids"]
    return Principal(
        "installation",
        f"installation ID {doc['installation_id']}",
        user_id=doc.get("user_id", 0),
        app_id=doc["app_id"],
        installation_id=doc["installation_id"],
        account_id=doc["account_id"],
        repository_ids=None if chosen is None else frozenset(chosen),
        permissions=doc["permissions"],
    )


def bearer(authorization: str) -> str | None:
    """Token of an `Authorization` header in one of the forms `Bearer`, `token` and `Basic`-less."""
    scheme, _, value = authorization.partition(" ")
    return value.strip() if scheme.lower() in ("bearer", "token") and value.strip() else None


__all__ = ["ALL_SCOPES", "ANONYMOUS", "bearer", "digest", "issue", "lookup", "random_text"]
