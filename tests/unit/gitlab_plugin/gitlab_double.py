"""In-memory GitLab: the calls that the plugin makes, and faults on demand."""

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

Json = dict[str, Any]


@dataclass
class Fault:
    """What happens to the next matching calls; `after=True` acts first and then fails."""

    method: str
    path: str
    status: int = 0
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False
    after: bool = False
    times: int = 1


class GitLabDouble:
    """Serves `/api/v4` on a free loopback port."""

    token = "glpat-planted-0123456789"

    def __init__(self) -> None:
        self.objects: dict[str, Json] = {}
        self.calls: list[tuple[str, str]] = []
        self.bodies: list[Json] = []
        self.faults: list[Fault] = []
        self._next = 100
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        double = self

        class Handler(_Handler):
            gitlab = double

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def fail(self, method: str, path: str, **how: Any) -> None:
        self.faults.append(Fault(method, path, **how))

    def count(self, method: str, path: str) -> int:
        return sum(1 for m, p in self.calls if m == method and re.fullmatch(path, p))

    def fault_for(self, method: str, path: str) -> Fault | None:
        with self._lock:
            for fault in self.faults:
                if fault.times and fault.method == method and re.fullmatch(fault.path, path):
                    fault.times -= 1
                    return fault
        return None

    def act(self, method: str, path: str, query: Json, body: Json) -> tuple[int, Any]:
        with self._lock:
            for verb, pattern, action in _ROUTES:
                match = re.fullmatch(pattern, path)
                if verb == method and match:
                    return action(self, [unquote(part) for part in match.groups()], query, body)
        return 404, {"message": "404 Not Found"}

    def new_id(self) -> int:
        self._next += 1
        return self._next


class _Handler(BaseHTTPRequestHandler):
    gitlab: GitLabDouble
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None: ...

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        path = parts.path.removeprefix("/api/v4")
        query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(raw) if raw else {}
        self.gitlab.calls.append((self.command, path))
        self.gitlab.bodies.append(body)
        fault = self.gitlab.fault_for(self.command, path)
        if fault and not fault.after:
            return self._fail(fault)
        if self.headers.get("Authorization") != f"Bearer {self.gitlab.token}":
            return self._answer(401, {"message": "401 Unauthorized"})
        status, answer = self.gitlab.act(self.command, path, query, body)
        return self._fail(fault) if fault else self._answer(status, answer)

    def _fail(self, fault: Fault) -> None:
        if fault.drop:
            self.close_connection = True
            self.connection.shutdown(2)
        else:
            self._answer(fault.status, fault.body or {"message": f"{fault.status} planted"}, fault.headers)

    def _answer(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        raw = b"" if status == 204 else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    do_GET = do_POST = do_PUT = do_DELETE = _handle  # noqa: N815 - names that http.server looks for


Action = Callable[[GitLabDouble, list[str], Json, Json], tuple[int, Any]]


def _new_runner(gitlab: GitLabDouble, _: list[str], __: Json, body: Json) -> tuple[int, Any]:
    number = gitlab.new_id()
    token = f"glrt-planted-{number}-token"
    owner = {"project_type": "projects", "group_type": "groups"}.get(body["runner_type"])
    runner = {
        "id": number,
        "description": "",
        "paused": False,
        "locked": False,
        "run_untagged": True,
        "tag_list": [],
        "access_level": "not_protected",
        "maximum_timeout": None,
        "maintenance_note": None,
        **{k: v for k, v in body.items() if k not in {"project_id", "group_id"}},
    }
    if owner:
        runner[owner] = [{"id": body[owner[:-1] + "_id"]}]
    gitlab.objects[f"/runners/{number}"] = runner
    return 201, {"id": number, "token": token, "token_expires_at": None}


def _runners(gitlab: GitLabDouble, *_: Any) -> tuple[int, Any]:
    return 200, [v for k, v in gitlab.objects.items() if k.startswith("/runners/")]


def _reset(_: GitLabDouble, parts: list[str], *__: Any) -> tuple[int, Any]:
    return 201, {"token": f"glrt-planted-{parts[0]}-fresh", "token_expires_at": None}


def _new_hook(gitlab: GitLabDouble, parts: list[str], _: Json, body: Json) -> tuple[int, Any]:
    number = gitlab.new_id()
    kept = {k: v for k, v in body.items() if k not in {"token", "signing_token"}}
    owner = "project_id" if parts[0] == "projects" else "group_id"
    hook = {"id": number, owner: 7, "alert_status": "executable", **kept}
    gitlab.objects[f"/{parts[0]}/{parts[1]}/hooks/{number}"] = hook
    return 201, hook


def _hooks(gitlab: GitLabDouble, parts: list[str], *_: Any) -> tuple[int, Any]:
    prefix = f"/{parts[0]}/{parts[1]}/hooks/"
    return 200, [v for k, v in gitlab.objects.items() if k.startswith(prefix)]


def _new_variable(gitlab: GitLabDouble, parts: list[str], _: Json, body: Json) -> tuple[int, Any]:
    key = f"/{parts[0]}/{parts[1]}/variables/{body['key']}"
    if key in gitlab.objects:
        return 400, {"message": {"key": [f"({body['key']}) has already been taken"]}}
    shown = {"hidden": bool(body.get("masked_and_hidden")), **body}
    shown.pop("masked_and_hidden", None)
    gitlab.objects[key] = shown
    return 201, shown


def _new_namespace(gitlab: GitLabDouble, parts: list[str], _: Json, body: Json) -> tuple[int, Any]:
    kind, number = parts[0], gitlab.new_id()
    made = {
        "id": number,
        "path": body.get("path") or body["name"],
        "web_url": f"https://gitlab.test/{number}",
        "runners_token": "GR-planted-runners-token",
        "visibility": "private",
        **body,
    }
    if kind == "projects":
        made["namespace"] = {"id": body.get("namespace_id", 1)}
        made["path_with_namespace"] = f"acme/{made['path']}"
    else:
        made["full_path"] = made["path"]
        made.setdefault("parent_id", None)
    gitlab.objects[f"/{kind}/{number}"] = made
    return 201, made


def _namespaces(gitlab: GitLabDouble, parts: list[str], *_: Any) -> tuple[int, Any]:
    return 200, [v for k, v in gitlab.objects.items() if re.fullmatch(rf"/{parts[0]}/\d+", k)]


def _transfer(gitlab: GitLabDouble, parts: list[str], _: Json, body: Json) -> tuple[int, Any]:
    project = gitlab.objects[f"/projects/{parts[0]}"]
    project["namespace"] = {"id": body["namespace"]}
    return 200, project


def _get(gitlab: GitLabDouble, parts: list[str], *_: Any) -> tuple[int, Any]:
    found = gitlab.objects.get(parts[0])
    return (200, found) if found else (404, {"message": "404 Not found"})


def _put(gitlab: GitLabDouble, parts: list[str], _: Json, body: Json) -> tuple[int, Any]:
    found = gitlab.objects.get(parts[0])
    if found is None:
        return 404, {"message": "404 Not found"}
    found.update({k: v for k, v in body.items() if k not in {"token", "signing_token"}})
    return 200, found


def _delete(gitlab: GitLabDouble, parts: list[str], *_: Any) -> tuple[int, Any]:
    gone = gitlab.objects.pop(parts[0], None)
    return (204, None) if gone else (404, {"message": "404 Not found"})


def _user(*_: Any) -> tuple[int, Any]:
    return 200, {"id": 5, "username": "ci-bot", "name": "CI", "bot": True}


_ROUTES: list[tuple[str, str, Action]] = [
    ("GET", "/user", _user),
    ("POST", "/user/runners", _new_runner),
    ("GET", r"/(?:projects|groups)/[^/]+/runners|/runners/all|/runners", _runners),
    ("POST", r"/runners/(\d+)/reset_authentication_token", _reset),
    ("POST", r"/(projects|groups)/([^/]+)/hooks", _new_hook),
    ("GET", r"/(projects|groups)/([^/]+)/hooks", _hooks),
    ("POST", r"/(projects|groups)/([^/]+)/variables", _new_variable),
    ("POST", r"/(projects|groups)", _new_namespace),
    ("GET", r"/(projects|groups)", _namespaces),
    ("PUT", r"/projects/(\d+)/transfer", _transfer),
    ("GET", "(/.+)", _get),
    ("PUT", "(/.+)", _put),
    ("DELETE", "(/.+)", _delete),
]
