"""Endpoints of Actions variables and secrets, of an organisation and of a repository alike."""

import base64
import binascii
import re

from nacl.exceptions import CryptoError
from nacl.public import PrivateKey, SealedBox

from localcloud.github import accounts, fields, payloads
from localcloud.github.errors import ApiError, invalid_field, not_found
from localcloud.github.http import NO_CONTENT, Api, Call, Reply
from localcloud.github.paging import page
from localcloud.github.principal import reads, writes
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc

api = Api()
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_VALUE = 48 * 1024
_VISIBILITIES = ("all", "private", "selected")
_BASES = {
    "variable": {
        "/orgs/{org}": ("organization_actions_variables", "admin:org"),
        "/repos/{owner}/{repo}": ("actions_variables", "repo"),
    },
    "secret": {
        "/orgs/{org}": ("organization_secrets", "admin:org"),
        "/repos/{owner}/{repo}": ("secrets", "repo"),
    },
}


def values_for(sim: Simulator, kind: str, repo: Doc) -> dict[str, str]:
    """Variables or secrets that a job of the repository gets; the repository's own win."""
    shared = [doc for doc in sim.store.find(kind, org_id=repo["owner_id"]) if _reaches(doc, repo)]
    own = sim.store.find(kind, repo_id=repo["id"])
    return {doc["name"]: doc["value"] for doc in [*shared, *own]}


def _reaches(doc: Doc, repo: Doc) -> bool:
    if doc["visibility"] == "selected":
        return repo["id"] in doc["selected_repository_ids"]
    return bool(doc["visibility"] == "all" or repo["private"])


def _owner(call: Call) -> Doc:
    return {"org_id": call.org["id"]} if call.org else {"repo_id": call.repo["id"]}


def _kind(call: Call) -> str:
    return "secret" if "/actions/secrets" in call.url else "variable"


def _key(call: Call, name: str) -> str:
    owner = _owner(call)
    return ":".join([*(f"{field}={value}" for field, value in owner.items()), name.upper()])


def list_all(call: Call) -> Reply:
    """All variables or secrets."""
    kind = _kind(call)
    return page(call, call.sim.store.find(kind, **_owner(call)), lambda doc: _show(call, doc), f"{kind}s")


def show_one(call: Call) -> Reply:
    """One variable, or a secret without its value."""
    return Reply(_show(call, _get(call)))


def create_variable(call: Call) -> Reply:
    """Make a variable."""
    name = _valid_name(fields.text(call.body, "name"))
    if call.sim.store.get("variable", _key(call, name)) is not None:
        raise ApiError(409, "Already exists - Variable already exists")
    _save(call, "variable", name, fields.text(call.body, "value"))
    return Reply({}, 201)


def update_variable(call: Call) -> Reply:
    """Change a variable; a new name moves it."""
    doc = _get(call)
    name = _valid_name(fields.text(call.body, "name", doc["name"]))
    if name != doc["name"]:
        call.sim.store.remove("variable", doc)
    _save(call, "variable", name, fields.text(call.body, "value", doc["value"]), doc)
    return NO_CONTENT


def show_public_key(call: Call) -> Reply:
    """Key that secrets are sealed with."""
    key = _private_key(call.sim)
    public = base64.b64encode(bytes(key.public_key)).decode()
    return Reply({"key_id": _key_id(public), "key": public})


def put_secret(call: Call) -> Reply:
    """Make or change a secret, which comes sealed."""
    name = _valid_name(call.path["name"])
    public = base64.b64encode(bytes(_private_key(call.sim).public_key)).decode()
    if fields.text(call.body, "key_id") != _key_id(public):
        raise invalid_field("Secret", "key_id", "key_id is not the current public key")
    known = call.sim.store.get("secret", _key(call, name))
    _save(call, "secret", name, _unseal(call), known)
    return Reply({}, 201) if known is None else NO_CONTENT


def delete_one(call: Call) -> Reply:
    """Remove a variable or secret."""
    call.sim.store.remove(_kind(call), _get(call))
    return NO_CONTENT


def list_repositories(call: Call) -> Reply:
    """Repositories that were chosen."""
    found = (accounts.repository_by_id(call.sim, number) for number in _get(call)["selected_repository_ids"])
    repos = [repo for repo in found if repo is not None]
    return page(call, repos, lambda repo: payloads.repository(call.sim, repo), "repositories")


def set_repositories(call: Call) -> Reply:
    """Replace the chosen repositories."""
    return _choose(call, fields.integers(call.body, "selected_repository_ids"))


def add_repository(call: Call) -> Reply:
    """Choose one more repository."""
    return _choose(call, sorted({*_get(call)["selected_repository_ids"], call.number("repository_id")}))


def remove_repository(call: Call) -> Reply:
    """Take one repository away."""
    known = set(_get(call)["selected_repository_ids"])
    return _choose(call, sorted(known - {call.number("repository_id")}))


def _choose(call: Call, numbers: list[int]) -> Reply:
    doc = _get(call)
    if doc["visibility"] != "selected":
        raise ApiError(409, "Conflict: visibility is not set to selected")
    call.sim.store.save(_kind(call), {**doc, "selected_repository_ids": numbers})
    return NO_CONTENT


def _get(call: Call) -> Doc:
    found = call.sim.store.get(_kind(call), _key(call, call.path["name"]))
    if found is None:
        raise not_found()
    return found


def _save(call: Call, kind: str, name: str, value: str, known: Doc | None = None) -> None:
    if len(value.encode()) > _MAX_VALUE:
        raise invalid_field(kind.capitalize(), "value", f"value is larger than {_MAX_VALUE} bytes")
    known = known or {}
    now = call.sim.clock.iso()
    doc: Doc = {
        "key": _key(call, name),
        **_owner(call),
        "name": name.upper(),
        "value": value,
        "created_at": known.get("created_at", now),
        "updated_at": now,
    }
    if call.org:
        doc["visibility"] = fields.choice(
            call.body, "visibility", _VISIBILITIES, known.get("visibility", "private")
        )
        doc["selected_repository_ids"] = fields.integers(
            call.body, "selected_repository_ids", known.get("selected_repository_ids", [])
        )
    call.sim.store.save(kind, doc)


def _show(call: Call, doc: Doc) -> Doc:
    names = ["name", "created_at", "updated_at"] + (["value"] if _kind(call) == "variable" else [])
    shown = {name: doc[name] for name in names}
    if call.org:
        shown["visibility"] = doc["visibility"]
    if doc.get("visibility") == "selected":
        base = f"{call.sim.api_url}/orgs/{call.org['login']}/actions/{_kind(call)}s"
        shown["selected_repositories_url"] = f"{base}/{doc['name']}/repositories"
    return shown


def _valid_name(name: str) -> str:
    if not _NAME.fullmatch(name) or name.upper().startswith("GITHUB_"):
        raise ApiError(
            422,
            "Names can only contain alphanumeric characters ([a-z], [A-Z], [0-9]) or underscores (_), must "
            "start with a letter ([a-z], [A-Z]) or underscore (_), and cannot start with GITHUB_.",
        )
    return name.upper()


def _private_key(sim: Simulator) -> PrivateKey:
    stored = sim.store.get("setting", "secrets_key")
    if stored is None:
        made = base64.b64encode(bytes(PrivateKey.generate())).decode()
        stored = sim.store.save("setting", {"key": "secrets_key", "value": made})
    return PrivateKey(base64.b64decode(stored["value"]))


def _key_id(public: str) -> str:
    return str(int.from_bytes(base64.b64decode(public)[:8], "big"))


def _unseal(call: Call) -> str:
    try:
        sealed = base64.b64decode(fields.text(call.body, "encrypted_value"), validate=True)
        return SealedBox(_private_key(call.sim)).decrypt(sealed).decode()
    except (CryptoError, binascii.Error, UnicodeDecodeError) as error:
        raise invalid_field("Secret", "encrypted_value", "cannot be opened with the public key") from error


def _register() -> None:
    for kind, bases in _BASES.items():
        for base, (permission, scope) in bases.items():
            read, write = reads(permission, scope), writes(permission, scope)
            root = f"{base}/actions/{kind}s"
            api.route("GET", root, read)(list_all)
            if kind == "secret":
                api.route("GET", f"{root}/public-key", read)(show_public_key)
                api.route("PUT", root + "/{name}", write)(put_secret)
            else:
                api.route("POST", root, write)(create_variable)
                api.route("PATCH", root + "/{name}", write)(update_variable)
            api.route("GET", root + "/{name}", read)(show_one)
            api.route("DELETE", root + "/{name}", write)(delete_one)
            if base.startswith("/orgs"):
                _register_choice(root + "/{name}/repositories", permission, scope)


def _register_choice(root: str, permission: str, scope: str) -> None:
    api.route("GET", root, reads(permission, scope))(list_repositories)
    api.route("PUT", root, writes(permission, scope))(set_repositories)
    api.route("PUT", root + "/{repository_id}", writes(permission, scope))(add_repository)
    api.route("DELETE", root + "/{repository_id}", writes(permission, scope))(remove_repository)


_register()
