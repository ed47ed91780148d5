"""Endpoints of self-hosted runners, of an organisation and of a repository alike."""

import base64
import json

from localcloud.github import fields, groups, runners
from localcloud.github.errors import ApiError, invalid_field, not_found, wrong_type
from localcloud.github.http import NO_CONTENT, Api, Call, Reply
from localcloud.github.paging import page
from localcloud.github.principal import Access, reads, writes
from localcloud.github.store import Doc
from localcloud.github.tokens import digest, random_text

api = Api()
_TOKEN_LIFE_S = 3600
_MAX_LABELS = 100
_REGISTRATION = "actions_runner_registration"
_SCOPES = {
    "/orgs/{org}": ("organization_self_hosted_runners", "admin:org"),
    "/repos/{owner}/{repo}": ("administration", "repo"),
}


def _scope(call: Call) -> Doc:
    return {"org_id": call.org["id"]} if call.org else {"repo_id": call.repo["id"]}


def list_runners(call: Call) -> Reply:
    """All runners, or those of one name."""
    found = runners.of_scope(call.sim, _scope(call))
    if name := call.query.get("name"):
        found = [runner for runner in found if runner["name"] == name]
    return page(call, found, lambda runner: runners.show(call.sim, runner), "runners")


def show_runner(call: Call) -> Reply:
    """One runner."""
    return Reply(runners.show(call.sim, _runner(call)))


def delete_runner(call: Call) -> Reply:
    """Remove a runner that runs no job."""
    runner = _runner(call)
    if runners.busy(runner):
        raise ApiError(
            422, f"Bad request - Runner {runner['name']} is currently running a job and cannot be deleted."
        )
    runners.remove(call.sim, runner)
    call.sim.wake_runners()
    return NO_CONTENT


def generate_jit_config(call: Call) -> Reply:
    """Register an ephemeral runner and hand out all that `run.sh --jitconfig` needs."""
    name = fields.text(call.body, "name")
    group_id = fields.integer(call.body, "runner_group_id")
    labels = _labels(call, required=True)
    _require_group(call, group_id)
    runner = runners.create(call.sim, _scope(call), name, labels, group_id, ephemeral=True)
    secret = random_text(52)
    runner["secret"] = digest(secret)
    runner["work_folder"] = fields.text(call.body, "work_folder", "_work")
    call.sim.store.save("runner", runner)
    encoded = encode_jit_config(call.sim.public_url, runner, secret)
    return Reply({"runner": runners.show(call.sim, runner), "encoded_jit_config": encoded}, 201)


def encode_jit_config(server: str, runner: Doc, secret: str) -> str:
    """Base64 of the three dot files of a configured runner, each in base64 itself."""
    files = {
        ".runner": {
            "agentId": str(runner["id"]),
            "agentName": runner["name"],
            "poolId": str(runner["group_id"]),
            "serverUrl": server,
            "workFolder": runner["work_folder"],
            "ephemeral": True,
            "disableUpdate": True,
        },
        ".credentials": {"scheme": "OAuth", "data": {"clientId": str(runner["id"]), "secret": secret}},
        ".credentials_rsaparams": {},
    }
    inner = {name: base64.b64encode(json.dumps(body).encode()).decode() for name, body in files.items()}
    return base64.b64encode(json.dumps(inner).encode()).decode()


def create_registration_token(call: Call) -> Reply:
    """A token by which `config.sh` registers, good for an hour."""
    return _issue(call, "register")


def create_remove_token(call: Call) -> Reply:
    """A token by which `config.sh remove` unregisters, good for an hour."""
    return _issue(call, "remove")


def _issue(call: Call, purpose: str) -> Reply:
    token = "A" + random_text(28).upper()
    expires = call.sim.clock.now() + _TOKEN_LIFE_S
    call.sim.store.save(
        "runner_token",
        {"key": digest(token), "purpose": purpose, "scope": _scope(call), "expires_at": expires},
    )
    return Reply({"token": token, "expires_at": call.sim.clock.iso(expires)}, 201)


def list_labels(call: Call) -> Reply:
    """Labels of a runner."""
    return _labels_reply(_runner(call))


def add_labels(call: Call) -> Reply:
    """Add custom labels."""
    runner = _runner(call)
    return _set_labels(call, runner, [*runner["labels"], *_labels(call, required=True)])


def set_labels(call: Call) -> Reply:
    """Replace the custom labels."""
    runner = _runner(call)
    return _set_labels(call, runner, [*_read_only(runner), *_labels(call, required=False)])


def clear_labels(call: Call) -> Reply:
    """Remove all custom labels."""
    runner = _runner(call)
    return _set_labels(call, runner, _read_only(runner))


def remove_label(call: Call) -> Reply:
    """Remove one custom label."""
    runner, name = _runner(call), call.path["name"].lower()
    if name not in runners.label_names(runner):
        raise not_found()
    if name in runners.READ_ONLY_LABELS:
        raise invalid_field("Label", "name", "read-only labels cannot be removed")
    return _set_labels(call, runner, [label for label in runner["labels"] if label.lower() != name])


def _set_labels(call: Call, runner: Doc, names: list[str]) -> Reply:
    runner["labels"] = list({name.lower(): name for name in names}.values())
    call.sim.store.save("runner", runner)
    call.sim.wake_runners()
    return _labels_reply(runner)


def _labels_reply(runner: Doc) -> Reply:
    return Reply({"total_count": len(runner["labels"]), "labels": runners.show_labels(runner["labels"])})


def _read_only(runner: Doc) -> list[str]:
    return [name for name in runner["labels"] if name.lower() in runners.READ_ONLY_LABELS]


def _labels(call: Call, *, required: bool) -> list[str]:
    names = fields.texts(call.body, "labels")
    if not int(required) <= len(names) <= _MAX_LABELS:
        raise wrong_type("labels", names, f"an array of 1 to {_MAX_LABELS} items")
    return list({name.lower(): name for name in names}.values())


def _require_group(call: Call, group_id: int) -> None:
    if group_id == groups.HOSTED_GROUP:
        raise ApiError(403, "Self-hosted runners cannot be added to the GitHub-hosted runner group.")
    if call.org:
        groups.get(call.sim, call.org, group_id)
    elif group_id != groups.DEFAULT_GROUP:
        raise not_found()


def _runner(call: Call) -> Doc:
    runner = call.sim.store.get("runner", call.number("runner_id"))
    scope = _scope(call)
    if runner is None or any(runner[name] != value for name, value in scope.items()):
        raise not_found()
    return runner


def list_downloads(call: Call) -> Reply:
    """Runner packages on offer; none is downloadable here."""
    name = "actions-runner-linux-x64-2.335.0.tar.gz"
    url = f"{call.sim.public_url}/releases/{name}"
    return Reply([{"os": "linux", "architecture": "x64", "filename": name, "download_url": url}])


def _register() -> None:
    for base, (permission, scope) in _SCOPES.items():
        read, write = reads(permission, scope), writes(permission, scope)
        root = f"{base}/actions/runners"
        one = root + "/{runner_id}"
        api.route("GET", root, read)(list_runners)
        api.route("GET", f"{root}/downloads", read)(list_downloads)
        _register_writes(root, one, read, write)


def _register_writes(root: str, one: str, read: Access, write: Access) -> None:
    for name, handler in (
        ("generate-jitconfig", generate_jit_config),
        ("registration-token", create_registration_token),
        ("remove-token", create_remove_token),
    ):
        api.route("POST", f"{root}/{name}", write, bucket=_REGISTRATION)(handler)
    api.route("GET", one, read)(show_runner)
    api.route("DELETE", one, write)(delete_runner)
    api.route("GET", f"{one}/labels", read)(list_labels)
    api.route("POST", f"{one}/labels", write)(add_labels)
    api.route("PUT", f"{one}/labels", write)(set_labels)
    api.route("DELETE", f"{one}/labels", write)(clear_labels)
    api.route("DELETE", one + "/labels/{name}", write)(remove_label)


_register()
