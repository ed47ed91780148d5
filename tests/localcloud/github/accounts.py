"""Users, organisations and repositories as stored, and who may see them."""

import hashlib

from localcloud.github.principal import Principal
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc


def account(sim: Simulator, login: str) -> Doc | None:
    """User or organisation of a login, in any case."""
    return next((doc for doc in sim.store.find("account") if doc["login"].lower() == login.lower()), None)


def account_by_id(sim: Simulator, account_id: int) -> Doc:
    """User or organisation of an id that is known to exist."""
    found = sim.store.get("account", account_id)
    if found is None:
        raise LookupError(f"account {account_id} is gone")
    return found


def repository(sim: Simulator, owner: str, name: str) -> Doc | None:
    """Repository of `owner/name`, in any case."""
    wanted = f"{owner}/{name}".lower()
    return next((doc for doc in sim.store.find("repository") if doc["full_name"].lower() == wanted), None)


def repository_by_id(sim: Simulator, repository_id: int) -> Doc | None:
    """Repository of an id."""
    return sim.store.get("repository", repository_id)


def repositories_of(sim: Simulator, owner: Doc) -> list[Doc]:
    """All repositories of an account."""
    return sim.store.find("repository", owner_id=owner["id"])


def is_owner(principal: Principal, owner: Doc) -> bool:
    """Whether a user owns the account."""
    return bool(principal.kind == "user" and principal.user_id in (owner["id"], *owner.get("owners", [])))


def sees_organization(principal: Principal, org: Doc) -> bool:
    """Whether the organisation's inner things exist for this caller."""
    if principal.kind == "installation":
        return bool(principal.account_id == org["id"])
    members: list[int] = org.get("members", [])
    return principal.user_id in members or is_owner(principal, org)


def sees_repository(sim: Simulator, principal: Principal, repo: Doc) -> bool:
    """Whether the repository exists for this caller."""
    if not repo["private"]:
        return True
    if principal.kind == "installation":
        return owns_repository(sim, principal, repo)
    owner = account_by_id(sim, repo["owner_id"])
    allowed = is_owner(principal, owner) or principal.user_id in repo.get("collaborators", [])
    return allowed and "repo" in principal.scopes


def owns_repository(sim: Simulator, principal: Principal, repo: Doc) -> bool:
    """Whether the caller administers the repository (user) or is installed on it (app)."""
    if principal.kind == "installation":
        chosen = principal.repository_ids
        return principal.account_id == repo["owner_id"] and (chosen is None or repo["id"] in chosen)
    return is_owner(principal, account_by_id(sim, repo["owner_id"]))


def new_account(sim: Simulator, login: str, kind: str, **more: object) -> Doc:
    """Make a user or an organisation; an organisation gets its default runner group."""
    doc: Doc = {
        "id": sim.store.next_id("account", 9_000_001),
        "login": login,
        "type": kind,
        "name": login,
        "created_at": sim.clock.iso(),
        **more,
    }
    sim.store.save("account", doc)
    if kind == "Organization":
        doc.setdefault("plan", "team")
        sim.store.save("runner_group", {**_default_group(), "org_id": doc["id"], "key": f"{doc['id']}:1"})
    return doc


def _default_group() -> Doc:
    return {
        "id": 1,
        "name": "Default",
        "visibility": "all",
        "default": True,
        "selected_repository_ids": [],
        "allows_public_repositories": False,
        "restricted_to_workflows": False,
        "selected_workflows": [],
    }


def new_repository(sim: Simulator, owner: Doc, name: str, *, private: bool, description: str | None) -> Doc:
    """Make an empty repository with the default branch `main`."""
    now = sim.clock.iso()
    return sim.store.save(
        "repository",
        {
            "id": sim.store.next_id("repository", 700_000_001),
            "owner_id": owner["id"],
            "name": name,
            "full_name": f"{owner['login']}/{name}",
            "private": private,
            "description": description,
            "default_branch": "main",
            "created_at": now,
            "updated_at": now,
            "pushed_at": now,
            "archived": False,
        },
    )


def node_id(prefix: str, number: int) -> str:
    """An opaque global id in GitHub's newer form."""
    return f"{prefix}_kgDO{hashlib.sha256(f'{prefix}{number}'.encode()).hexdigest()[:12]}"
