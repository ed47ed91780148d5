"""Turns something that happened into deliveries to every hook that listens."""

import json
import uuid

from localcloud.github import accounts, faults, hooks, payloads
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc

_ZEN = "Anything added dilutes everything else."


def emit(sim: Simulator, event: str, action: str, content: Doc, repo: Doc, sender_id: int) -> None:
    """Queue one delivery for each listening hook."""
    owner = accounts.account_by_id(sim, repo["owner_id"])
    org = owner if owner["type"] == "Organization" else None
    payload: Doc = {"action": action, **content, "repository": payloads.repository(sim, repo)}
    if org is not None:
        payload["organization"] = payloads.organization(sim, org)
    payload["sender"] = payloads.user(sim, accounts.account_by_id(sim, sender_id))
    for hook in hooks.listening(sim, event, repo, org):
        queue(sim, hook, event, action, payload, repo)


def ping(sim: Simulator, hook: Doc, sender_id: int) -> None:
    """Queue the ping that a new hook gets."""
    payload: Doc = {"zen": _ZEN, "hook_id": hook["id"], "hook": hooks.show(sim, hook)}
    repo = None
    if hook.get("repo_id"):
        repo = accounts.repository_by_id(sim, hook["repo_id"]) or {}
        payload["repository"] = payloads.repository(sim, repo)
    if hook.get("org_id"):
        payload["organization"] = payloads.organization(sim, accounts.account_by_id(sim, hook["org_id"]))
    if not hook.get("app_id"):
        payload["sender"] = payloads.user(sim, accounts.account_by_id(sim, sender_id))
    queue(sim, hook, "ping", None, payload, repo)


def queue(sim: Simulator, hook: Doc, event: str, action: str | None, payload: Doc, repo: Doc | None) -> None:
    """Queue one delivery; faults may lose, double or delay it, and one over the size cap is never made."""
    installation = hook.get("installation_id")
    if installation is not None:
        node = accounts.node_id("I", installation)
        payload = {**payload, "installation": {"id": installation, "node_id": node}}
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    if len(text.encode()) > sim.setting("delivery_max_bytes"):
        return
    delivery: Doc = {
        "guid": str(uuid.uuid1()),
        "hook_id": hook["id"],
        "event": event,
        "action": action,
        "installation_id": installation,
        "repository_id": None if repo is None else repo["id"],
        "redelivery": False,
        "not_before": 0.0,
        "queued_at": sim.clock.now(),
    }
    for copy in _with_fault(sim, delivery):
        store(sim, copy, text)


def _with_fault(sim: Simulator, delivery: Doc) -> list[Doc]:
    name = delivery["event"] if delivery["action"] is None else f"{delivery['event']}.{delivery['action']}"
    rule = faults.take(sim, faults.DELIVERY_KINDS, "*", name)
    kind = None if rule is None else rule["kind"]
    if kind == "delivery_dropped":
        return []
    if kind == "delivery_lost":
        return [{**delivery, "lost": True}]
    if kind == "delivery_doubled":
        return [delivery, dict(delivery)]
    if rule is not None and kind == "delivery_delayed":
        return [{**delivery, "not_before": sim.clock.now() + rule.get("delay_s", 30)}]
    return [delivery]


def store(sim: Simulator, delivery: Doc, text: str) -> Doc:
    """Keep a delivery that is still to be sent."""
    delivery["id"] = sim.store.next_id("delivery", 20_000_000_001)
    delivery["state"] = "pending"
    sim.store.write_text(f"delivery:{delivery['id']}", text)
    sim.store.save("delivery", delivery)
    sim.deliveries_wake.set()
    return delivery
