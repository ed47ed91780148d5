"""The simulator's control API below `/_sim`: state, time, faults, log; for tests, with the sim token."""

import hmac
import json
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from localcloud.github import accounts, faults, seeds, tokens
from localcloud.github.errors import ApiError, not_found
from localcloud.github.gate import Gate
from localcloud.github.simulator import DEFAULTS
from localcloud.github.store import Doc, as_doc

Answer: TypeAlias = tuple[object, int]
Action: TypeAlias = Callable[[Gate, Request, Doc], Answer]


def reset(gate: Gate, request: Request, body: Doc) -> Answer:
    """Back to the seeds."""
    gate.sim.store.wipe()
    gate.journal.entries.clear()
    gate.limits.windows.clear()
    gate.limits.points.clear()
    gate.limits.content.clear()
    seeds.plant(gate.sim)
    return {}, 200


def list_faults(gate: Gate, request: Request, body: Doc) -> Answer:
    """Rules that are on."""
    return gate.sim.store.find("fault"), 200


def add_fault(gate: Gate, request: Request, body: Doc) -> Answer:
    """Switch on one rule, or a list of them."""
    rules: list[Doc] = body.get("", [body])
    return [faults.add(gate.sim, rule) for rule in rules], 201


def clear_faults(gate: Gate, request: Request, body: Doc) -> Answer:
    """Switch all rules off."""
    for rule in gate.sim.store.find("fault"):
        gate.sim.store.remove("fault", rule)
    return {}, 200


def show_log(gate: Gate, request: Request, body: Doc) -> Answer:
    """Requests seen, oldest first, secrets masked."""
    return list(gate.journal.entries), 200


def clear_log(gate: Gate, request: Request, body: Doc) -> Answer:
    """Forget the requests seen."""
    gate.journal.entries.clear()
    return {}, 200


def show_clock(gate: Gate, request: Request, body: Doc) -> Answer:
    """Current time."""
    clock = gate.sim.clock
    return {"now": clock.iso(), "offset_s": clock.offset_s()}, 200


def show_settings(gate: Gate, request: Request, body: Doc) -> Answer:
    """All settings with their current values."""
    return {name: gate.sim.setting(name) for name in DEFAULTS}, 200


def change_settings(gate: Gate, request: Request, body: Doc) -> Answer:
    """Change some settings."""
    unknown = sorted(body.keys() - DEFAULTS.keys())
    if unknown:
        raise ApiError(422, f"Unknown settings {unknown}; known are {sorted(DEFAULTS)}")
    gate.sim.configure(body)
    return show_settings(gate, request, body)


def create_account(gate: Gate, request: Request, body: Doc) -> Answer:
    """Make a user or an organisation: `{login, type, plan}`."""
    kind = body.get("type", "Organization")
    me = accounts.account(gate.sim, seeds.USER_LOGIN) or {}
    more: Doc = {"plan": body.get("plan", "team"), "owners": [me["id"]], "members": []}
    return accounts.new_account(gate.sim, body["login"], kind, **(more if kind != "User" else {})), 201


def create_token(gate: Gate, request: Request, body: Doc) -> Answer:
    """Make a personal access token: `{login, scopes, expires_in_s}`."""
    login = body.get("login", seeds.USER_LOGIN)
    owner = accounts.account(gate.sim, login) or accounts.new_account(gate.sim, login, "User")
    token = f"ghp_{tokens.random_text(36)}"
    more: Doc = {}
    if "expires_in_s" in body:
        more["expires_at"] = gate.sim.clock.now() + body["expires_in_s"]
    scopes = body.get("scopes", list(tokens.ALL_SCOPES))
    tokens.issue(gate.sim, token, kind="user", user_id=owner["id"], scopes=scopes, **more)
    return {"token": token, "user_id": owner["id"]}, 201


def create_app(gate: Gate, request: Request, body: Doc) -> Answer:
    """Register an app: `{name, owner, permissions, events, webhook: {url, secret}, public_key}`.

    Without a public key a pair is made and the private key is in the answer, once, as GitHub does.
    """
    sim = gate.sim
    owner = accounts.account(sim, body.get("owner", seeds.ORGANIZATION))
    if owner is None:
        raise not_found()
    private, public = _key_pair() if "public_key" not in body else (None, body["public_key"])
    number = sim.store.next_id("app", 700_001)
    app: Doc = {
        "id": number,
        "client_id": f"Iv23li{tokens.random_text(14)}",
        "name": body.get("name", f"app-{number}"),
        "slug": str(body.get("name", f"app-{number}")).lower().replace(" ", "-"),
        "owner_id": owner["id"],
        "permissions": {"metadata": "read", **body.get("permissions", {})},
        "events": body.get("events", []),
        "public_key": public,
        "created_at": sim.clock.iso(),
    }
    sim.store.save("app", app)
    _app_hook(gate, app, body.get("webhook", {}))
    return {**app, "pem": private}, 201


def _app_hook(gate: Gate, app: Doc, webhook: Doc) -> None:
    now = gate.sim.clock.iso()
    config = {"content_type": "json", "insecure_ssl": "0", **webhook}
    gate.sim.store.save(
        "hook",
        {
            "id": gate.sim.store.next_id("hook", 450_000_001),
            "app_id": app["id"],
            "active": bool(webhook.get("url")),
            "events": app["events"],
            "config": config,
            "created_at": now,
            "updated_at": now,
            "last_response": {"code": None, "status": "unused", "message": None},
        },
    )


def _key_pair() -> tuple[str, str]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private.decode(), public.decode()


def create_installation(gate: Gate, request: Request, body: Doc) -> Answer:
    """Install an app: `{app_id, account, repositories}`; without repositories, on all of them."""
    sim = gate.sim
    app, owner = sim.store.get("app", body["app_id"]), accounts.account(sim, body["account"])
    if app is None or owner is None:
        raise not_found()
    names = body.get("repositories")
    own = accounts.repositories_of(sim, owner)
    installation: Doc = {
        "id": sim.store.next_id("installation", 50_000_001),
        "app_id": app["id"],
        "account_id": owner["id"],
        "repository_ids": None if names is None else [repo["id"] for repo in own if repo["name"] in names],
        "permissions": app["permissions"],
        "events": app["events"],
        "created_at": sim.clock.iso(),
    }
    return sim.store.save("installation", installation), 201


ROUTES: tuple[tuple[str, str, Action], ...] = (
    ("POST", "/reset", reset),
    ("GET", "/faults", list_faults),
    ("POST", "/faults", add_fault),
    ("DELETE", "/faults", clear_faults),
    ("GET", "/log", show_log),
    ("DELETE", "/log", clear_log),
    ("GET", "/clock", show_clock),
    ("GET", "/settings", show_settings),
    ("PATCH", "/settings", change_settings),
    ("POST", "/accounts", create_account),
    ("POST", "/tokens", create_token),
    ("POST", "/apps", create_app),
    ("POST", "/installations", create_installation),
)


def routes(gate: Gate, more: tuple[tuple[str, str, Action], ...] = ()) -> list[Route]:
    """Starlette routes of the control API."""
    return [
        Route(f"/_sim{path}", _guarded(gate, action), methods=[method])
        for method, path, action in (*ROUTES, *more)
    ]


def _guarded(gate: Gate, action: Action) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given, f"Bearer {gate.sim.sim_token}"):
            return JSONResponse({"message": "The sim token of world.json is needed"}, 401)
        try:
            body, status = action(gate, request, _body(await request.body()))
        except ApiError as error:
            return JSONResponse(error.body(), error.status)
        except KeyError as error:
            return JSONResponse({"message": f"{error} is missing in the body"}, 422)
        gate.sim.store.commit()
        return JSONResponse(body, status)

    return endpoint


def _body(raw: bytes) -> Doc:
    value: object = json.loads(raw) if raw.strip() else {}
    doc = as_doc(value)
    return {"": value} if doc is None else doc
