"""The runner's side of the service, below `/_runner`.

GitHub's own protocol between runner and service is private and changes without notice, so this one is
ours: it has the same steps (register, session, long poll, acquire, renew, log, complete) and the same
rules, and only the stand-in for `actions/runner` speaks it.
"""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from localcloud.github import faults, groups, job_steps, runners, runs, scheduler
from localcloud.github.errors import ApiError, not_found
from localcloud.github.gate import Gate, read_body
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc
from localcloud.github.tokens import bearer, digest, random_text

_SLICE_S = 1.0
_GONE = "The runner registration has been deleted from the server, please re-configure."


def register(sim: Simulator, body: Doc) -> Doc:
    """Register by a registration token: `{token, name, labels, group, ephemeral, replace}`."""
    scope = _token_scope(sim, body, "register")
    group_id = _group_id(sim, scope, body.get("group"))
    known = [item for item in runners.of_scope(sim, scope) if item["name"].lower() == body["name"].lower()]
    if known and body.get("replace"):
        if runners.busy(known[0]):
            raise ApiError(409, f"Runner {body['name']} is running a job and cannot be replaced.")
        runners.remove(sim, known[0])
    labels = list({label.lower(): label for label in body["labels"]}.values())
    runner = runners.create(sim, scope, body["name"], labels, group_id, ephemeral=bool(body.get("ephemeral")))
    secret = random_text(52)
    runner |= {"secret": digest(secret), "work_folder": body.get("work_folder", "_work"), "os": "Linux"}
    sim.store.save("runner", runner)
    return {"runner_id": runner["id"], "secret": secret}


def unregister(sim: Simulator, body: Doc) -> Doc:
    """Unregister by a remove token: `{token, runner_id}`."""
    scope = _token_scope(sim, body, "remove")
    runner = sim.store.get("runner", body["runner_id"])
    if runner is None or runner not in runners.of_scope(sim, scope):
        raise not_found()
    runners.remove(sim, runner)
    return {}


def _token_scope(sim: Simulator, body: Doc, purpose: str) -> Doc:
    token = sim.store.get("runner_token", digest(str(body.get("token", ""))))
    if token is None or token["purpose"] != purpose or token["expires_at"] <= sim.clock.now():
        raise ApiError(404, "Not Found")
    scope: Doc = token["scope"]
    return scope


def _group_id(sim: Simulator, scope: Doc, name: str | None) -> int:
    if not name or "org_id" not in scope:
        return groups.DEFAULT_GROUP
    found = sim.store.first("runner_group", org_id=scope["org_id"], name=name)
    if found is None:
        raise ApiError(404, f"Could not find any self-hosted runner group named {name!r}.")
    return int(found["id"])


def open_session(sim: Simulator, body: Doc) -> Doc:
    """Come online: `{runner_id, secret, os, version}`; one session at a time."""
    runner = sim.store.get("runner", body.get("runner_id"))
    if runner is None or runner.get("secret") != digest(str(body.get("secret", ""))):
        raise ApiError(401, _GONE)
    if runners.online(sim, runner) and sim.store.first("session", runner_id=runner["id"]):
        raise ApiError(409, "A session for this runner already exists.")
    _require_version(sim, str(body.get("version", "")))
    for old in sim.store.find("session", runner_id=runner["id"]):
        sim.store.remove("session", old)
    session = sim.store.save("session", {"key": random_text(40), "runner_id": runner["id"]})
    runner["os"] = body.get("os", "Linux")
    _seen(sim, runner)
    return {"session": session["key"], "name": runner["name"]}


def _require_version(sim: Simulator, version: str) -> None:
    oldest = str(sim.setting("minimum_runner_version"))
    if _numbers(version) < _numbers(oldest):
        raise ApiError(403, f"Runner version v{version} is deprecated and cannot receive messages.")


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdecimal()]


def close_session(sim: Simulator, runner: Doc, session: Doc) -> Doc:
    """Go offline."""
    sim.store.remove("session", session)
    job = sim.store.get("job", runner["job_id"])
    if job is not None and job["status"] == "queued":
        scheduler.requeue(sim, job)
    runner |= {"last_seen": None, "closed": sim.clock.now()}
    sim.store.save("runner", runner)
    return {}


def acquire(sim: Simulator, job: Doc) -> Doc:
    """Start the assigned job."""
    if job["status"] != "queued":
        raise ApiError(409, "The job is not waiting for this runner any more.")
    message = job_steps.prepare(sim, job)
    job["steps"][0] |= {"status": "in_progress", "started_at": sim.clock.iso()}
    runs.begin_job(sim, job)
    return message


def renew(sim: Simulator, job: Doc) -> Doc:
    """Say that the job is alive; learn whether it was cancelled."""
    return {"cancel": bool(job.get("cancel"))}


def append_log(sim: Simulator, job: Doc, body: Doc) -> Doc:
    """Add lines to the job's log; secrets are masked here as well."""
    text = str(body["text"])
    for secret in sorted(job["secrets"].values(), key=len, reverse=True):
        text = text.replace(secret, "***") if secret else text
    sim.store.append_text(f"log:{job['id']}", text)
    return {"cancel": bool(job.get("cancel"))}


def complete(sim: Simulator, job: Doc, body: Doc) -> Doc:
    """End the job: `{conclusion, note}`."""
    now = sim.clock.iso()
    for step in (job["steps"][0], job["steps"][-1]):
        step["started_at"] = step["started_at"] or now
        step |= {"status": "completed", "conclusion": "success", "completed_at": now}
    job["outputs"] = job_steps.outputs(sim, job)
    runs.complete_job(sim, job, body["conclusion"], body.get("note"))
    return {}


def _seen(sim: Simulator, runner: Doc) -> None:
    runner["last_seen"] = sim.clock.now()
    sim.store.save("runner", runner)


async def wait_for_job(sim: Simulator, runner: Doc, request: Request) -> Doc | None:
    """Long poll: the assigned job, or None after `wait_s`; the runner counts as alive meanwhile."""
    loop = asyncio.get_running_loop()
    end = loop.time() + float(request.query_params.get("wait_s", "20"))
    while True:
        # Not only "is there one": after a reset the number may belong to another runner.
        if sim.store.get("runner", runner["id"]) is not runner:
            raise ApiError(401, _GONE)
        _seen(sim, runner)
        job = scheduler.job_for(sim, runner)
        sim.store.commit()
        if job is not None:
            return {"job_id": job["id"]}
        left = end - loop.time()
        if left <= 0 or await request.is_disconnected():
            return None
        wake = sim.runners_wake
        try:
            await asyncio.wait_for(wake.wait(), min(left, _SLICE_S))
        except TimeoutError:
            continue


class Protocol:
    """HTTP side: finds session, runner and job of a request."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._sim = gate.sim

    def routes(self) -> list[Route]:
        """Starlette routes."""
        job = "/_runner/jobs/{job_id:int}"
        table: tuple[tuple[str, str, Callable[[Request, Doc], Awaitable[Doc | None]]], ...] = (
            ("POST", "/_runner/register", self._register),
            ("POST", "/_runner/remove", self._unregister),
            ("POST", "/_runner/sessions", self._open),
            ("DELETE", "/_runner/session", self._close),
            ("GET", "/_runner/message", self._message),
            ("POST", f"{job}/acquire", self._on_job(lambda sim, item, _: acquire(sim, item))),
            ("POST", f"{job}/renew", self._on_job(lambda sim, item, _: renew(sim, item))),
            ("POST", f"{job}/log", self._on_job(append_log)),
            ("POST", f"{job}/complete", self._on_job(complete)),
            ("POST", job + "/steps/{index:int}/begin", self._step_begin),
            ("POST", job + "/steps/{index:int}/end", self._step_end),
        )
        return [Route(path, self._guarded(action), methods=[method]) for method, path, action in table]

    def _guarded(
        self, action: Callable[[Request, Doc], Awaitable[Doc | None]]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            body, problem = await read_body(request)
            rule = faults.take(self._sim, ("answer",), request.method, request.url.path)
            try:
                if problem:
                    raise problem
                if rule is not None:
                    injected = faults.answer(rule)
                    return JSONResponse(injected.body, injected.status, injected.headers)
                result = await action(request, body)
            except ApiError as error:
                return JSONResponse(error.body(), error.status)
            finally:
                self._sim.store.commit()
            return Response(status_code=204) if result is None else JSONResponse(result)

        return endpoint

    async def _register(self, request: Request, body: Doc) -> Doc:
        return register(self._sim, body)

    async def _unregister(self, request: Request, body: Doc) -> Doc:
        return unregister(self._sim, body)

    async def _open(self, request: Request, body: Doc) -> Doc:
        return open_session(self._sim, body)

    async def _close(self, request: Request, body: Doc) -> Doc:
        return close_session(self._sim, *self._session(request))

    async def _message(self, request: Request, body: Doc) -> Doc | None:
        return await wait_for_job(self._sim, self._session(request)[0], request)

    def _on_job(
        self, action: Callable[[Simulator, Doc, Doc], Doc]
    ) -> Callable[[Request, Doc], Awaitable[Doc | None]]:
        async def call(request: Request, body: Doc) -> Doc:
            return action(self._sim, self._job(request), body)

        return call

    async def _step_begin(self, request: Request, body: Doc) -> Doc:
        return job_steps.begin(self._sim, self._job(request), request.path_params["index"])

    async def _step_end(self, request: Request, body: Doc) -> Doc:
        job_steps.end(self._sim, self._job(request), request.path_params["index"], body)
        return {}

    def _session(self, request: Request) -> tuple[Doc, Doc]:
        session = self._sim.store.get("session", bearer(request.headers.get("authorization", "")))
        runner = None if session is None else self._sim.store.get("runner", session["runner_id"])
        if session is None or runner is None:
            raise ApiError(401, _GONE)
        return runner, session

    def _job(self, request: Request) -> Doc:
        runner, _ = self._session(request)
        _seen(self._sim, runner)
        job = self._sim.store.get("job", request.path_params["job_id"])
        if job is None or runner.get("job_id") != job["id"] or job["status"] == "completed":
            raise not_found()
        return job
