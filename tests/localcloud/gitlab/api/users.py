"""Version, the signed-in user, users and access tokens."""

from typing import Any

from localcloud.gitlab import present
from localcloud.gitlab.access import user_of_token
from localcloud.gitlab.api.core import Api, Call, paged
from localcloud.gitlab.errors import forbidden, not_found, refused
from localcloud.gitlab.instance import ALL_SCOPES, add_token, add_user, digest
from localcloud.gitlab.settings import REVISION, VERSION
from localcloud.gitlab.store import Row

api = Api()


@api.get("/version", scopes=("read_user",))
def version(call: Call) -> Row:
    """The server's version; needs a token, as GitLab's does."""
    return call.user and {"version": VERSION, "revision": REVISION}


@api.get("/metadata", scopes=("read_user",))
def metadata(call: Call) -> Row:
    """Version and edition."""
    return call.user and {
        "version": VERSION, "revision": REVISION, "enterprise": True,
        "kas": {"enabled": False, "externalUrl": None, "externalK8sProxyUrl": None, "version": None},
    }  # fmt: skip


@api.get("/user", scopes=("read_user",))
def current(call: Call) -> Row | None:
    """The signed-in user."""
    user = call.user
    more = {
        "email": user["email"],
        "is_admin": user["admin"],
        "bot": user["bot"],
        "created_at": user["created_at"],
    }
    return (present.user(call.instance, user) or {}) | more


@api.get("/users")
def users(call: Call) -> Any:
    """Users, by `username` or `search`."""
    _ = call.user
    name, word = call.params.text("username"), (call.params.text("search") or "").lower()
    rows = [
        row
        for row in call.store.find("users")
        if name in {None, row["username"]} and word in f"{row['username']} {row['name']}".lower()
    ]
    return paged(call, rows, lambda row: present.user(call.instance, row))


@api.get("/users/{user_id}")
def user(call: Call) -> Row | None:
    """One user."""
    _ = call.user
    row = call.store.one("users", id=call.number("user_id"))
    if row is None:
        raise not_found("User")
    return present.user(call.instance, row)


@api.post("/users")
def create_user(call: Call) -> Row | None:
    """Create a user; for administrators."""
    if not call.user["admin"]:
        raise forbidden()
    username, name = call.params.need("username"), call.params.need("name")
    call.params.check()
    if call.store.one("users", username=username):
        raise refused(409, "Username has already been taken")
    return present.user(call.instance, call.store.get("users", add_user(call.instance, username, name)))


@api.post("/users/{user_id}/personal_access_tokens")
def create_token(call: Call) -> Row:
    """Create an access token for a user; for administrators."""
    if not call.user["admin"]:
        raise forbidden()
    name, scopes = call.params.need("name"), call.params.strings("scopes") or []
    if not scopes or not set(scopes) <= set(ALL_SCOPES):
        call.params.problems.append("scopes does not have a valid value")
    call.params.check()
    token_id, token = add_token(
        call.instance, call.number("user_id"), name, scopes, expires_at=call.params.text("expires_at")
    )
    return _token(call.store.get("tokens", token_id)) | {"token": token}


@api.get("/personal_access_tokens/self", scopes=ALL_SCOPES)
def own_token(call: Call) -> Row:
    """The token that makes this call."""
    user_of_token(call.instance, call.token(), ALL_SCOPES)
    row = call.store.one("tokens", digest=digest(call.token()))
    return _token(row or {})


@api.delete("/personal_access_tokens/{token_id}")
def revoke_token(call: Call) -> None:
    """Revoke a token; its owner and administrators may."""
    row = call.store.one("tokens", id=call.number("token_id"))
    if row is None or (row["user_id"] != call.user["id"] and not call.user["admin"]):
        raise not_found()
    call.store.update("tokens", row["id"], revoked=True)


def _token(row: Row) -> Row:
    return {
        "id": row["id"], "name": row["name"], "revoked": row["revoked"], "created_at": row["created_at"],
        "scopes": row["scopes"], "user_id": row["user_id"], "last_used_at": row["last_used_at"],
        "active": not row["revoked"], "expires_at": (row["expires_at"] or "")[:10] or None,
        "description": None,
    }  # fmt: skip
