"""Webhooks as stored, what they listen to, how they look."""

from localcloud.github import accounts
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc

MASKED = "********"


def listening(sim: Simulator, event: str, repo: Doc | None, org: Doc | None) -> list[Doc]:
    """Active hooks of the repository, its organisation and the apps installed there that want the event."""
    found = [] if repo is None else sim.store.find("hook", repo_id=repo["id"])
    found += [] if org is None else sim.store.find("hook", org_id=org["id"])
    found += _app_hooks(sim, repo, org)
    return [hook for hook in found if hook["active"] and wants(hook, event)]


def wants(hook: Doc, event: str) -> bool:
    """Whether the hook is subscribed to the event."""
    return event in hook["events"] or "*" in hook["events"]


def _app_hooks(sim: Simulator, repo: Doc | None, org: Doc | None) -> list[Doc]:
    account_id = repo["owner_id"] if repo else (org or {}).get("id")
    found: list[Doc] = []
    for installation in sim.store.find("installation", account_id=account_id):
        chosen = installation["repository_ids"]
        if repo is not None and chosen is not None and repo["id"] not in chosen:
            continue
        hook = sim.store.first("hook", app_id=installation["app_id"])
        if hook is not None and hook["config"].get("url"):
            found.append({**hook, "installation_id": installation["id"]})
    return found


def target(hook: Doc) -> tuple[str, int]:
    """Type and id of what the hook belongs to, as in the delivery headers."""
    if hook.get("app_id"):
        return "integration", hook["app_id"]
    return ("organization", hook["org_id"]) if hook.get("org_id") else ("repository", hook["repo_id"])


def base_url(sim: Simulator, hook: Doc) -> str:
    """REST address of the hook."""
    if hook.get("app_id"):
        return f"{sim.api_url}/app/hook"
    if hook.get("org_id"):
        return f"{sim.api_url}/orgs/{accounts.account_by_id(sim, hook['org_id'])['login']}/hooks/{hook['id']}"
    repo = accounts.repository_by_id(sim, hook["repo_id"]) or {}
    return f"{sim.api_url}/repos/{repo['full_name']}/hooks/{hook['id']}"


def show_config(hook: Doc) -> Doc:
    """Configuration with the secret masked."""
    config: Doc = dict(hook["config"])
    return {**config, "secret": MASKED} if config.get("secret") else config


def show(sim: Simulator, hook: Doc) -> Doc:
    """REST form; the secret never leaves."""
    url = base_url(sim, hook)
    kind = "App" if hook.get("app_id") else "Organization" if hook.get("org_id") else "Repository"
    shown: Doc = {
        "type": kind,
        "id": hook["id"],
        "name": "web",
        "active": hook["active"],
        "events": hook["events"],
        "config": show_config(hook),
        "updated_at": hook["updated_at"],
        "created_at": hook["created_at"],
        "url": url,
        "ping_url": f"{url}/pings",
        "deliveries_url": f"{url}/deliveries",
    }
    if kind == "Repository":
        shown["test_url"] = f"{url}/test"
        shown["last_response"] = hook["last_response"]
    if kind == "App":
        shown["app_id"] = hook["app_id"]
    return shown
