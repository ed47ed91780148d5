"""Endpoints of an organisation's runner groups."""

from localcloud.github import accounts, fields, groups, payloads, runners
from localcloud.github.errors import ApiError, invalid_field, not_found
from localcloud.github.http import NO_CONTENT, Api, Call, Reply
from localcloud.github.paging import page
from localcloud.github.principal import reads, writes
from localcloud.github.store import Doc

api = Api()
_PERMISSION = "organization_self_hosted_runners"
_READ = reads(_PERMISSION, "admin:org")
_WRITE = writes(_PERMISSION, "admin:org")
_VISIBILITIES = ("selected", "all", "private")
_BASE = "/orgs/{org}/actions/runner-groups"


@api.route("GET", _BASE, _READ)
def list_groups(call: Call) -> Reply:
    """All groups; `visible_to_repository` keeps those that the named repository may use."""
    found = groups.of(call.sim, call.org)
    if wanted := call.query.get("visible_to_repository"):
        repo = accounts.repository(call.sim, call.org["login"], wanted.rpartition("/")[2])
        if repo is None:
            raise not_found()
        found = [group for group in found if groups.serves({**group, "restricted_to_workflows": False}, repo)]
    return page(call, found, lambda group: groups.show(call.sim, call.org, group), "runner_groups")


@api.route("POST", _BASE, _WRITE)
def create_group(call: Call) -> Reply:
    """Make a group; a free organisation has only its default one."""
    if call.org["plan"] == "free":
        raise ApiError(403, "Runner groups are not available on your plan. Upgrade to create a runner group.")
    group: Doc = {
        "name": fields.text(call.body, "name"),
        "visibility": fields.choice(call.body, "visibility", _VISIBILITIES, "all"),
        "default": False,
        "selected_repository_ids": _own_repositories(call),
        "allows_public_repositories": fields.flag(call.body, "allows_public_repositories", default=False),
        "restricted_to_workflows": fields.flag(call.body, "restricted_to_workflows", default=False),
        "selected_workflows": fields.texts(call.body, "selected_workflows", []),
        "org_id": call.org["id"],
    }
    _require_free_name(call, group["name"], own_id=None)
    chosen = [_runner(call, number) for number in fields.integers(call.body, "runners", [])]
    group["id"] = call.sim.store.next_id(f"runner_group:{call.org['id']}", groups.FIRST_OWN_GROUP)
    group["key"] = f"{call.org['id']}:{group['id']}"
    call.sim.store.save("runner_group", group)
    for runner in chosen:
        _move(call, runner, group["id"])
    return Reply(groups.show(call.sim, call.org, group), 201)


@api.route("GET", _BASE + "/{group}", _READ)
def show_group(call: Call) -> Reply:
    """One group."""
    return Reply(groups.show(call.sim, call.org, _group(call)))


@api.route("PATCH", _BASE + "/{group}", _WRITE)
def update_group(call: Call) -> Reply:
    """Change what the body names."""
    group = _group(call)
    if "name" in call.body:
        _require_free_name(call, fields.text(call.body, "name"), own_id=group["id"])
    group["name"] = fields.text(call.body, "name", group["name"])
    group["visibility"] = fields.choice(call.body, "visibility", _VISIBILITIES, group["visibility"])
    for name in ("allows_public_repositories", "restricted_to_workflows"):
        group[name] = fields.flag(call.body, name, default=group[name])
    group["selected_workflows"] = fields.texts(call.body, "selected_workflows", group["selected_workflows"])
    call.sim.store.save("runner_group", group)
    call.sim.wake_runners()
    return Reply(groups.show(call.sim, call.org, group))


@api.route("DELETE", _BASE + "/{group}", _WRITE)
def delete_group(call: Call) -> Reply:
    """Remove a group; its runners go to the default one."""
    group = _group(call)
    if group["default"]:
        raise ApiError(422, "The default runner group cannot be deleted.")
    for runner in _members(call, group):
        _move(call, runner, groups.DEFAULT_GROUP)
    call.sim.store.remove("runner_group", group)
    return NO_CONTENT


@api.route("GET", _BASE + "/{group}/repositories", _READ)
def list_group_repositories(call: Call) -> Reply:
    """Repositories that were given access."""
    found = [
        repo
        for number in _group(call)["selected_repository_ids"]
        if (repo := accounts.repository_by_id(call.sim, number)) is not None
    ]
    return page(call, found, lambda repo: payloads.repository(call.sim, repo), "repositories")


@api.route("PUT", _BASE + "/{group}/repositories", _WRITE)
def set_group_repositories(call: Call) -> Reply:
    """Replace the list of repositories."""
    return _set_repositories(call, _own_repositories(call, required=True))


@api.route("PUT", _BASE + "/{group}/repositories/{repository_id}", _WRITE)
def add_group_repository(call: Call) -> Reply:
    """Give one repository access."""
    group, number = _selected_group(call), call.number("repository_id")
    _require_own(call, [number])
    return _set_repositories(call, list(dict.fromkeys([*group["selected_repository_ids"], number])))


@api.route("DELETE", _BASE + "/{group}/repositories/{repository_id}", _WRITE)
def remove_group_repository(call: Call) -> Reply:
    """Take access from one repository."""
    group, number = _selected_group(call), call.number("repository_id")
    return _set_repositories(call, [known for known in group["selected_repository_ids"] if known != number])


@api.route("GET", _BASE + "/{group}/runners", _READ)
def list_group_runners(call: Call) -> Reply:
    """Runners of a group."""
    return page(call, _members(call, _group(call)), lambda runner: runners.show(call.sim, runner), "runners")


@api.route("PUT", _BASE + "/{group}/runners", _WRITE)
def set_group_runners(call: Call) -> Reply:
    """Replace the members; those left out go to the default group."""
    group = _group(call)
    chosen = [_runner(call, number) for number in fields.integers(call.body, "runners")]
    for runner in _members(call, group):
        _move(call, runner, groups.DEFAULT_GROUP)
    for runner in chosen:
        _move(call, runner, group["id"])
    return NO_CONTENT


@api.route("PUT", _BASE + "/{group}/runners/{runner_id}", _WRITE)
def add_group_runner(call: Call) -> Reply:
    """Move one runner into the group."""
    runner = _runner(call, call.number("runner_id"))
    _move(call, runner, _group(call)["id"])
    return NO_CONTENT


@api.route("DELETE", _BASE + "/{group}/runners/{runner_id}", _WRITE)
def remove_group_runner(call: Call) -> Reply:
    """Move one runner back to the default group."""
    runner = _runner(call, call.number("runner_id"))
    _move(call, runner, groups.DEFAULT_GROUP)
    return NO_CONTENT


def _group(call: Call) -> Doc:
    return groups.get(call.sim, call.org, call.number("group"))


def _selected_group(call: Call) -> Doc:
    group = _group(call)
    if group["visibility"] != "selected":
        raise ApiError(409, "Runner group visibility must be set to 'selected' to change its repositories.")
    return group


def _set_repositories(call: Call, numbers: list[int]) -> Reply:
    group = _group(call)
    group["selected_repository_ids"] = numbers
    call.sim.store.save("runner_group", group)
    call.sim.wake_runners()
    return NO_CONTENT


def _own_repositories(call: Call, *, required: bool = False) -> list[int]:
    numbers = fields.integers(call.body, "selected_repository_ids", None if required else [])
    _require_own(call, numbers)
    return numbers


def _require_own(call: Call, numbers: list[int]) -> None:
    own = {repo["id"] for repo in accounts.repositories_of(call.sim, call.org)}
    unknown = [number for number in numbers if number not in own]
    if unknown:
        raise invalid_field(
            "RunnerGroup", "selected_repository_ids", f"not repositories of the organization: {unknown}"
        )


def _require_free_name(call: Call, name: str, own_id: int | None) -> None:
    for group in groups.of(call.sim, call.org):
        if group["name"].lower() == name.lower() and group["id"] != own_id:
            raise ApiError(409, f"Runner group {name} already exists.")


def _members(call: Call, group: Doc) -> list[Doc]:
    return call.sim.store.find("runner", org_id=call.org["id"], group_id=group["id"])


def _runner(call: Call, number: int) -> Doc:
    runner = call.sim.store.get("runner", number)
    if runner is None or runner["org_id"] != call.org["id"]:
        raise not_found()
    return runner


def _move(call: Call, runner: Doc, group_id: int) -> None:
    runner["group_id"] = group_id
    call.sim.store.save("runner", runner)
    call.sim.wake_runners()
