"""Finds the organisation or repository that a path names, and refuses callers without the right."""

from localcloud.github import accounts
from localcloud.github.errors import (
    ApiError,
    bad_credentials,
    missing_scope,
    not_for_integration,
    not_found,
    requires_authentication,
)
from localcloud.github.http import NO_DOC, Call
from localcloud.github.principal import Access
from localcloud.github.store import Doc


def resolve(call: Call, access: Access) -> tuple[Doc, Doc]:
    """Organisation and repository of the call's path, an empty document where the path names none.

    Raises:
        ApiError: 401, 403 or 404 as GitHub answers them.
    """
    _require_kind(call, access)
    if "repo" in call.path:
        repo = accounts.repository(call.sim, call.path["owner"], call.path["repo"])
        return NO_DOC, _repository(call, access, repo)
    if "repository_id" in call.path and "org" not in call.path:
        return NO_DOC, _repository(
            call, access, accounts.repository_by_id(call.sim, call.number("repository_id"))
        )
    if "org" in call.path:
        return _organization(call, access), NO_DOC
    return NO_DOC, NO_DOC


def _require_kind(call: Call, access: Access) -> None:
    kind = call.principal.kind
    if kind == "anonymous" and not access.public:
        raise requires_authentication()
    if access.kind == "app" and kind != "app":
        raise ApiError(401, "A JSON web token could not be decoded")
    if access.kind == "user" and kind not in ("user", "anonymous"):
        raise not_for_integration()
    if access.kind == "any" and kind == "app" and not access.public:
        raise bad_credentials()


def _repository(call: Call, access: Access, repo: Doc | None) -> Doc:
    if repo is None or not accounts.sees_repository(call.sim, call.principal, repo):
        raise not_found()
    if access.public and not repo["private"]:
        return repo
    owner = accounts.account_by_id(call.sim, repo["owner_id"])
    _require_right(call, access, owner, inside=accounts.owns_repository(call.sim, call.principal, repo))
    return repo


def _organization(call: Call, access: Access) -> Doc:
    org = accounts.account(call.sim, call.path["org"])
    if org is None or org["type"] != "Organization":
        raise not_found()
    if access.public:
        return org
    if not accounts.sees_organization(call.principal, org):
        raise not_found()
    inside = call.principal.kind == "installation" or accounts.is_owner(call.principal, org)
    _require_right(call, access, org, inside=inside)
    return org


def _require_right(call: Call, access: Access, owner: Doc, *, inside: bool) -> None:
    caller = call.principal
    if caller.kind == "anonymous":
        raise requires_authentication()
    read_only = access.level == "read" and (
        access.permission in ("metadata", "contents", "pull_requests", "issues", "actions")
    )
    member = caller.user_id in owner.get("members", []) and read_only
    if caller.may(access) and (inside or member):
        return
    raise not_for_integration() if caller.kind == "installation" else missing_scope()
