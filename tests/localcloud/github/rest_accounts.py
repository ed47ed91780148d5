"""Endpoints about the caller, the service, users, organisations and repositories."""

from localcloud.github import accounts, fields, payloads
from localcloud.github.errors import invalid_field, not_found
from localcloud.github.http import NO_CONTENT, Api, Call, Reply
from localcloud.github.paging import page
from localcloud.github.principal import ANYBODY, METADATA, SIGNED_IN, USER, writes
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc

api = Api()
_ADMINISTRATION = writes("administration", "repo")
_NO_COUNTS = dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0)


@api.route("GET", "/user", USER)
def show_me(call: Call) -> Reply:
    """The user of the token."""
    me = accounts.account_by_id(call.sim, call.principal.user_id)
    return Reply(_user(call.sim, me))


@api.route("GET", "/users/{login}", ANYBODY)
def show_user(call: Call) -> Reply:
    """A user or organisation as a user."""
    found = accounts.account(call.sim, call.path["login"])
    if found is None:
        raise not_found()
    return Reply(_user(call.sim, found))


def _user(sim: Simulator, doc: Doc) -> Doc:
    nothing = dict.fromkeys(("company", "blog", "location", "email", "hireable", "bio", "twitter_username"))
    dates = {"created_at": doc["created_at"], "updated_at": doc["created_at"]}
    return {**payloads.user(sim, doc), "name": doc["name"], **nothing, **_NO_COUNTS, **dates}


@api.route("GET", "/meta", ANYBODY)
def show_meta(call: Call) -> Reply:
    """What the service says of itself."""
    version = "3.17.0"
    return Reply({"verifiable_password_authentication": True, "installed_version": version})


@api.route("GET", "/", ANYBODY)
def show_root(call: Call) -> Reply:
    """The addresses of the API."""
    url = call.sim.api_url
    return Reply({"current_user_url": f"{url}/user", "organization_url": f"{url}/orgs/{{org}}"})


@api.route("GET", "/user/orgs", USER)
def list_my_organizations(call: Call) -> Reply:
    """Organisations that the caller belongs to."""
    orgs = call.sim.store.find("account", type="Organization")
    mine = [org for org in orgs if accounts.sees_organization(call.principal, org)]
    return page(call, mine, lambda org: payloads.organization(call.sim, org))


@api.route("GET", "/orgs/{org}", ANYBODY)
def show_organization(call: Call) -> Reply:
    """One organisation; the plan is shown to its owners."""
    org = call.org
    shown = {
        **payloads.organization(call.sim, org),
        "name": org["name"],
        **_NO_COUNTS,
        "html_url": f"{call.sim.public_url}/{org['login']}",
        "has_organization_projects": True,
        "has_repository_projects": True,
        "type": "Organization",
        "created_at": org["created_at"],
        "updated_at": org["created_at"],
        "archived_at": None,
    }
    if accounts.is_owner(call.principal, org):
        shown["plan"] = {"name": org["plan"], "space": 976562499, "private_repos": 999999, "seats": 5}
    return Reply(shown)


@api.route("GET", "/orgs/{org}/repos", METADATA)
def list_organization_repositories(call: Call) -> Reply:
    """Repositories of an organisation that the caller may see."""
    return _visible(call, accounts.repositories_of(call.sim, call.org))


@api.route("GET", "/user/repos", USER)
def list_my_repositories(call: Call) -> Reply:
    """All repositories that the caller may see through its account."""
    docs = call.sim.store.find("repository")
    return _visible(call, [doc for doc in docs if accounts.owns_repository(call.sim, call.principal, doc)])


@api.route("GET", "/installation/repositories", SIGNED_IN)
def list_installation_repositories(call: Call) -> Reply:
    """Repositories that the installation token reaches."""
    docs = call.sim.store.find("repository", owner_id=call.principal.account_id)
    mine = [doc for doc in docs if accounts.owns_repository(call.sim, call.principal, doc)]
    return page(call, mine, lambda doc: payloads.repository(call.sim, doc), "repositories")


def _visible(call: Call, docs: list[Doc]) -> Reply:
    seen = [doc for doc in docs if accounts.sees_repository(call.sim, call.principal, doc)]
    return page(call, seen, lambda doc: payloads.repository(call.sim, doc))


@api.route("POST", "/orgs/{org}/repos", _ADMINISTRATION)
def create_organization_repository(call: Call) -> Reply:
    """Make a repository in an organisation."""
    return _create(call, call.org)


@api.route("POST", "/user/repos", USER)
def create_my_repository(call: Call) -> Reply:
    """Make a repository of the caller."""
    return _create(call, accounts.account_by_id(call.sim, call.principal.user_id))


def _create(call: Call, owner: Doc) -> Reply:
    name = fields.text(call.body, "name")
    if accounts.repository(call.sim, owner["login"], name) is not None:
        raise invalid_field("Repository", "name", "name already exists on this account", "custom")
    private = fields.flag(
        call.body, "private", default=call.body.get("visibility") in ("private", "internal")
    )
    repo = accounts.new_repository(
        call.sim, owner, name, private=private, description=call.body.get("description")
    )
    return Reply(payloads.repository_full(call.sim, repo), 201)


@api.route("GET", "/repos/{owner}/{repo}", METADATA)
def show_repository(call: Call) -> Reply:
    """One repository by name."""
    return Reply(payloads.repository_full(call.sim, call.repo))


@api.route("GET", "/repositories/{repository_id}", METADATA)
def show_repository_by_id(call: Call) -> Reply:
    """One repository by id."""
    return Reply(payloads.repository_full(call.sim, call.repo))


@api.route("PATCH", "/repos/{owner}/{repo}", _ADMINISTRATION)
def update_repository(call: Call) -> Reply:
    """Change description, privacy, archive state, default branch or name."""
    repo = call.repo
    for name in ("description", "private", "archived", "default_branch"):
        if name in call.body:
            repo[name] = call.body[name]
    if "name" in call.body:
        repo["name"] = fields.text(call.body, "name")
        repo["full_name"] = f"{repo['full_name'].split('/')[0]}/{repo['name']}"
    repo["updated_at"] = call.sim.clock.iso()
    call.sim.store.save("repository", repo)
    return Reply(payloads.repository_full(call.sim, repo))


@api.route("DELETE", "/repos/{owner}/{repo}", writes("administration", "delete_repo"))
def delete_repository(call: Call) -> Reply:
    """Remove a repository and what belongs to it."""
    store = call.sim.store
    for kind in (
        "branch",
        "commit",
        "run",
        "job",
        "hook",
        "runner",
        "variable",
        "secret",
        "issue",
        "comment",
    ):
        for doc in store.find(kind, repo_id=call.repo["id"]):
            store.remove(kind, doc)
    store.remove("repository", call.repo)
    return NO_CONTENT
