"""Endpoints of webhooks and their deliveries: of an organisation, a repository and an app."""

import base64

from localcloud.github import deliveries, events, fields, hooks
from localcloud.github.errors import ApiError, invalid_field, not_found
from localcloud.github.http import NO_CONTENT, Api, Call, Reply
from localcloud.github.paging import page
from localcloud.github.principal import APP, Access, reads, writes
from localcloud.github.store import Doc

api = Api()
_CONTENT_TYPES = ("json", "form")
_MAX_HOOKS = 20
_MAX_PAGE = 100
_BASES = {
    "/orgs/{org}/hooks": ("organization_hooks", ("admin:org_hook",)),
    "/repos/{owner}/{repo}/hooks": ("repository_hooks", ("admin:repo_hook", "repo")),
}


def _owner(call: Call) -> Doc:
    return {"org_id": call.org["id"]} if call.org else {"repo_id": call.repo["id"]}


def list_hooks(call: Call) -> Reply:
    """All hooks."""
    found = call.sim.store.find("hook", **_owner(call))
    return page(call, found, lambda hook: hooks.show(call.sim, hook))


def create_hook(call: Call) -> Reply:
    """Make a hook; it gets a ping at once."""
    config = _config(call, {})
    event_names = fields.texts(call.body, "events", ["push"])
    _require_new(call, config["url"], event_names)
    now = call.sim.clock.iso()
    hook = call.sim.store.save(
        "hook",
        {
            "id": call.sim.store.next_id("hook", 450_000_001),
            **_owner(call),
            "active": fields.flag(call.body, "active", default=True),
            "events": event_names,
            "config": config,
            "created_at": now,
            "updated_at": now,
            "last_response": {"code": None, "status": "unused", "message": None},
        },
    )
    events.ping(call.sim, hook, _sender(call))
    return Reply(hooks.show(call.sim, hook), 201)


def show_hook(call: Call) -> Reply:
    """One hook."""
    return Reply(hooks.show(call.sim, _hook(call)))


def update_hook(call: Call) -> Reply:
    """Change what the body names; a masked or absent secret stays."""
    hook = _hook(call)
    if "config" in call.body:
        hook["config"] = _config(call, hook["config"])
    if "events" in call.body:
        hook["events"] = fields.texts(call.body, "events")
    added, removed = (fields.texts(call.body, f"{verb}_events", []) for verb in ("add", "remove"))
    hook["events"] = [name for name in dict.fromkeys([*hook["events"], *added]) if name not in removed]
    hook["active"] = fields.flag(call.body, "active", default=hook["active"])
    return _saved(call, hook)


def delete_hook(call: Call) -> Reply:
    """Remove a hook and its deliveries."""
    hook = _hook(call)
    for delivery in call.sim.store.find("delivery", hook_id=hook["id"]):
        call.sim.store.remove_text(f"delivery:{delivery['id']}")
        call.sim.store.remove("delivery", delivery)
    call.sim.store.remove("hook", hook)
    return NO_CONTENT


def ping_hook(call: Call) -> Reply:
    """Send another ping."""
    events.ping(call.sim, _hook(call), _sender(call))
    return NO_CONTENT


def show_config(call: Call) -> Reply:
    """Configuration of a hook."""
    return Reply(hooks.show_config(_hook(call)))


def update_config(call: Call) -> Reply:
    """Change the configuration."""
    hook = _hook(call)
    hook["config"] = _merged(call.body, hook["config"])
    # An app's hook has no switch of its own: it is on where it has an address.
    hook["active"] = hook["active"] or bool(hook.get("app_id"))
    _saved(call, hook)
    return Reply(hooks.show_config(hook))


def list_deliveries(call: Call) -> Reply:
    """Deliveries of the last days, newest first, by cursor."""
    found = [
        item for item in call.sim.store.find("delivery", hook_id=_hook(call)["id"]) if _listed(call, item)
    ]
    found.sort(key=lambda item: item["id"], reverse=True)
    if wanted := call.query.get("status"):
        good = wanted == "success"
        found = [item for item in found if (200 <= item["status_code"] < 300) == good]
    if wanted := call.query.get("redelivery"):
        found = [item for item in found if item["redelivery"] == (wanted == "true")]
    return _cursor_page(call, found)


def _listed(call: Call, delivery: Doc) -> bool:
    oldest = call.sim.clock.now() - call.sim.setting("delivery_window_s")
    return bool(delivery["state"] == "sent" and delivery["delivered_at"] >= oldest)


def _cursor_page(call: Call, found: list[Doc]) -> Reply:
    size = min(int(call.query.get("per_page", "30")), _MAX_PAGE)
    below = _decode_cursor(call.query.get("cursor"))
    found = [item for item in found if below is None or item["id"] < below]
    shown, more = found[:size], found[size:]
    headers: dict[str, str] = {}
    if more:
        cursor = base64.urlsafe_b64encode(f"v1_{shown[-1]['id']}".encode()).decode()
        address = f"{hooks.base_url(call.sim, _hook(call))}/deliveries?per_page={size}&cursor={cursor}"
        headers["Link"] = f'<{address}>; rel="next"'
    return Reply([deliveries.show(call.sim, item) for item in shown], headers=headers)


def _decode_cursor(text: str | None) -> int | None:
    if not text:
        return None
    try:
        return int(base64.urlsafe_b64decode(text).decode().removeprefix("v1_"))
    except ValueError as error:
        raise ApiError(422, "Invalid cursor") from error


def show_delivery(call: Call) -> Reply:
    """One delivery with request and response."""
    return Reply(deliveries.show(call.sim, _delivery(call), full=True))


def redeliver(call: Call) -> Reply:
    """Send a delivery again under the same GUID."""
    old = _delivery(call)
    text = call.sim.store.read_text(f"delivery:{old['id']}") or "{}"
    kept = ("guid", "hook_id", "event", "action", "installation_id", "repository_id")
    again: Doc = {name: old[name] for name in kept}
    again |= {"redelivery": True, "not_before": 0.0, "queued_at": call.sim.clock.now()}
    events.store(call.sim, again, text)
    return Reply({}, 202)


def _delivery(call: Call) -> Doc:
    found = call.sim.store.get("delivery", call.number("delivery_id"))
    if found is None or found["hook_id"] != _hook(call)["id"] or not _listed(call, found):
        raise not_found()
    return found


def _hook(call: Call) -> Doc:
    if "hook_id" not in call.path:
        found = call.sim.store.first("hook", app_id=call.principal.app_id)
    else:
        found = call.sim.store.get("hook", call.number("hook_id"))
        if found is not None and any(found.get(name) != value for name, value in _owner(call).items()):
            found = None
    if found is None:
        raise not_found()
    return found


def _saved(call: Call, hook: Doc) -> Reply:
    hook["updated_at"] = call.sim.clock.iso()
    call.sim.store.save("hook", hook)
    return Reply(hooks.show(call.sim, hook))


def _config(call: Call, known: Doc) -> Doc:
    if not isinstance(call.body.get("config"), dict):
        raise invalid_field("Hook", "config", "config is required", "missing_field")
    return _merged(call.body["config"], known)


def _merged(given: Doc, known: Doc) -> Doc:
    config = {**known, **{name: value for name, value in given.items() if value not in (None, "")}}
    if given.get("secret") == hooks.MASKED or "secret" not in given:
        config = {**config, "secret": known.get("secret")}
    if not config.get("secret"):
        config.pop("secret", None)
    config["insecure_ssl"] = "1" if str(config.get("insecure_ssl", "0")) in ("1", "True") else "0"
    config.setdefault("content_type", "form")
    _check(config)
    return config


def _check(config: Doc) -> None:
    url = config.get("url")
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise invalid_field("Hook", "url", f"url is not a supported address: {url!r}", "custom")
    if config["content_type"] not in _CONTENT_TYPES:
        raise invalid_field("Hook", "content_type", "content_type must be json or form")


def _require_new(call: Call, url: str, names: list[str]) -> None:
    known = call.sim.store.find("hook", **_owner(call))
    if any(hook["config"]["url"] == url and set(hook["events"]) & set(names) for hook in known):
        detail = {"resource": "Hook", "code": "custom", "message": "Hook already exists on this organization"}
        if not call.org:
            detail["message"] = "Hook already exists on this repository"
        raise ApiError(422, "Validation Failed", errors=[detail])
    for name in set(names):
        if sum(name in hook["events"] for hook in known) >= _MAX_HOOKS:
            raise invalid_field(
                "Hook", "base", f'The "{name}" event cannot have more than {_MAX_HOOKS} hooks'
            )


def _sender(call: Call) -> int:
    if call.principal.user_id:
        return call.principal.user_id
    return int(call.org["id"] if call.org else call.repo["owner_id"])


def _register() -> None:
    for root, (permission, scopes) in _BASES.items():
        read, write = reads(permission, *scopes), writes(permission, *scopes)
        one = root + "/{hook_id}"
        api.route("GET", root, read)(list_hooks)
        api.route("POST", root, write)(create_hook)
        api.route("GET", one, read)(show_hook)
        api.route("PATCH", one, write)(update_hook)
        api.route("DELETE", one, write)(delete_hook)
        api.route("POST", f"{one}/pings", write)(ping_hook)
        api.route("GET", f"{one}/config", read)(show_config)
        api.route("PATCH", f"{one}/config", write)(update_config)
        _register_deliveries(f"{one}/deliveries", read, write)
    api.route("GET", "/app/hook/config", APP)(show_config)
    api.route("PATCH", "/app/hook/config", APP)(update_config)
    _register_deliveries("/app/hook/deliveries", APP, APP)


def _register_deliveries(root: str, read: Access, write: Access) -> None:
    api.route("GET", root, read)(list_deliveries)
    api.route("GET", root + "/{delivery_id}", read)(show_delivery)
    api.route("POST", root + "/{delivery_id}/attempts", write)(redeliver)


_register()
