"""Endpoints of a GitHub App: itself, its installations, its installation tokens."""

from localcloud.github import accounts, fields, payloads
from localcloud.github.errors import ApiError, not_found
from localcloud.github.http import NO_CONTENT, Api, Call, Reply
from localcloud.github.paging import page
from localcloud.github.principal import APP, SIGNED_IN
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc, as_doc
from localcloud.github.tokens import bearer, digest, issue, random_text

api = Api()
_TOKEN_LIFE_S = 3600
_LEVELS = ("read", "write", "admin")


@api.route("GET", "/app", APP)
def show_app(call: Call) -> Reply:
    """The app that signed the call."""
    app = _app(call)
    owner = accounts.account_by_id(call.sim, app["owner_id"])
    return Reply(
        {
            "id": app["id"],
            "slug": app["slug"],
            "client_id": app["client_id"],
            "node_id": accounts.node_id("A", app["id"]),
            "owner": payloads.user(call.sim, owner),
            "name": app["name"],
            "description": None,
            "external_url": call.sim.public_url,
            "html_url": f"{call.sim.public_url}/apps/{app['slug']}",
            "created_at": app["created_at"],
            "updated_at": app["created_at"],
            "permissions": app["permissions"],
            "events": app["events"],
            "installations_count": len(call.sim.store.find("installation", app_id=app["id"])),
        }
    )


@api.route("GET", "/app/installations", APP)
def list_installations(call: Call) -> Reply:
    """All installations of the app."""
    found = call.sim.store.find("installation", app_id=call.principal.app_id)
    return page(call, found, lambda item: show_installation(call.sim, item))


@api.route("GET", "/app/installations/{installation_id}", APP)
def get_installation(call: Call) -> Reply:
    """One installation."""
    return Reply(show_installation(call.sim, _installation(call)))


@api.route("DELETE", "/app/installations/{installation_id}", APP)
def delete_installation(call: Call) -> Reply:
    """Uninstall; its tokens stop working."""
    call.sim.store.remove("installation", _installation(call))
    return NO_CONTENT


@api.route("GET", "/orgs/{login}/installation", APP)
def find_organization_installation(call: Call) -> Reply:
    """Installation on an organisation."""
    return _on_account(call, call.path["login"])


@api.route("GET", "/users/{login}/installation", APP)
def find_user_installation(call: Call) -> Reply:
    """Installation on a user."""
    return _on_account(call, call.path["login"])


@api.route("GET", "/repos/{owner}/{name}/installation", APP)
def find_repository_installation(call: Call) -> Reply:
    """Installation that reaches a repository."""
    repo = accounts.repository(call.sim, call.path["owner"], call.path["name"])
    if repo is None:
        raise not_found()
    return _on_account(call, call.path["owner"], repo["id"])


@api.route("POST", "/app/installations/{installation_id}/access_tokens", APP)
def create_token(call: Call) -> Reply:
    """A token good for an hour, narrowed as the body asks."""
    installation = _installation(call)
    chosen = _narrow_repositories(call, installation)
    permissions = _narrow_permissions(call, installation)
    token = f"ghs_{random_text(36)}"
    expires = call.sim.clock.now() + _TOKEN_LIFE_S
    issue(
        call.sim,
        token,
        kind="installation",
        installation_id=installation["id"],
        app_id=installation["app_id"],
        account_id=installation["account_id"],
        repository_ids=chosen,
        permissions=permissions,
        expires_at=expires,
    )
    body: Doc = {
        "token": token,
        "expires_at": call.sim.clock.iso(expires),
        "permissions": permissions,
        "repository_selection": "all" if chosen is None else "selected",
    }
    if chosen is not None:
        found = [call.sim.store.get("repository", number) for number in chosen]
        body["repositories"] = [payloads.repository(call.sim, repo) for repo in found if repo]
    return Reply(body, 201)


@api.route("DELETE", "/installation/token", SIGNED_IN)
def revoke_token(call: Call) -> Reply:
    """Revoke the installation token of the call."""
    found = call.sim.store.get("token", digest(bearer(call.headers["authorization"]) or ""))
    if found is not None:
        call.sim.store.remove("token", found)
    return NO_CONTENT


def show_installation(sim: Simulator, installation: Doc) -> Doc:
    """REST form of an installation."""
    owner = accounts.account_by_id(sim, installation["account_id"])
    app = sim.store.get("app", installation["app_id"]) or {}
    url = f"{sim.api_url}/app/installations/{installation['id']}"
    return {
        "id": installation["id"],
        "account": payloads.user(sim, owner),
        "repository_selection": "all" if installation["repository_ids"] is None else "selected",
        "access_tokens_url": f"{url}/access_tokens",
        "repositories_url": f"{sim.api_url}/installation/repositories",
        "html_url": f"{sim.public_url}/settings/installations/{installation['id']}",
        "app_id": installation["app_id"],
        "app_slug": app.get("slug", ""),
        "target_id": owner["id"],
        "target_type": owner["type"],
        "permissions": installation["permissions"],
        "events": installation["events"],
        "created_at": installation["created_at"],
        "updated_at": installation["created_at"],
        "single_file_name": None,
        "suspended_by": None,
        "suspended_at": None,
    }


def _app(call: Call) -> Doc:
    found = call.sim.store.get("app", call.principal.app_id)
    if found is None:
        raise not_found()
    return found


def _installation(call: Call) -> Doc:
    found = call.sim.store.get("installation", call.number("installation_id"))
    if found is None or found["app_id"] != call.principal.app_id:
        raise not_found()
    return found


def _on_account(call: Call, login: str, repository_id: int | None = None) -> Reply:
    owner = accounts.account(call.sim, login)
    for found in call.sim.store.find("installation", app_id=call.principal.app_id):
        chosen: list[int] | None = found["repository_ids"]
        reached = repository_id is None or chosen is None or repository_id in chosen
        if reached and owner is not None and found["account_id"] == owner["id"]:
            return Reply(show_installation(call.sim, found))
    raise not_found()


def _narrow_repositories(call: Call, installation: Doc) -> list[int] | None:
    names = fields.texts(call.body, "repositories", [])
    numbers = fields.integers(call.body, "repository_ids", [])
    allowed: list[int] | None = installation["repository_ids"]
    if not names and not numbers:
        return allowed
    own = call.sim.store.find("repository", owner_id=installation["account_id"])
    chosen = [repo["id"] for repo in own if repo["name"] in names or repo["id"] in numbers]
    reachable = [number for number in chosen if allowed is None or number in allowed]
    if len(reachable) != len(set(names)) + len(set(numbers)):
        raise ApiError(
            422,
            "There is at least one repository that does not exist or is not accessible to the parent "
            "installation.",
        )
    return reachable


def _narrow_permissions(call: Call, installation: Doc) -> Doc:
    granted: Doc = installation["permissions"]
    wanted = as_doc(call.body.get("permissions"))
    if wanted is None:
        return granted
    for name, level in wanted.items():
        if level not in _LEVELS or name not in granted or _above(level, granted[name]):
            raise ApiError(422, "The permissions requested are not granted to this installation.")
    return wanted


def _above(level: str, granted: str) -> bool:
    return _LEVELS.index(level) > _LEVELS.index(granted)
