"""A few plain HTML pages for a person: what there is, what runs, what a job has printed."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from localcloud.github import accounts, groups, hooks, runners, runs_store
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc

_STYLE = (
    "body{font:14px system-ui;margin:2rem;max-width:75rem}"
    "table{border-collapse:collapse;margin:.5rem 0 1.5rem}"
    "td,th{border:1px solid #ccc;padding:.2rem .6rem;text-align:left}"
    "pre{background:#111;color:#ddd;padding:1rem}"
)
_LATEST = 50


def routes(sim: Simulator) -> list[Route]:
    """Starlette routes of the pages."""
    base = "/{owner}/{repo}/actions/runs/{run_id:int}"
    return [
        Route("/", _page(sim, _overview)),
        Route(base, _page(sim, _run)),
        Route(base + "/job/{job_id:int}", _page(sim, _job)),
    ]


def _page(
    sim: Simulator, content: Callable[[Simulator, Request], str | None]
) -> Callable[[Request], Awaitable[HTMLResponse]]:
    async def endpoint(request: Request) -> HTMLResponse:
        body = content(sim, request)
        status = 404 if body is None else 200
        head = f"<!doctype html><meta charset=utf-8><title>Simulated GitHub</title><style>{_STYLE}</style>"
        return HTMLResponse(f"{head}<h1><a href='/'>Simulated GitHub</a></h1>{body or 'Not found'}", status)

    return endpoint


def _overview(sim: Simulator, request: Request) -> str:
    latest = sorted(sim.store.find("run"), key=lambda run: int(run["id"]), reverse=True)[:_LATEST]
    parts = [
        "<h2>Workflow runs</h2>",
        _runs_table(sim, latest),
        "<h2>Runners</h2>",
        _runners_table(sim),
        "<h2>Repositories</h2>",
        _table(
            ("repository", "visibility", "default branch"),
            (
                (repo["full_name"], "private" if repo["private"] else "public", repo["default_branch"])
                for repo in sim.store.find("repository")
            ),
        ),
        "<h2>Runner groups</h2>",
        _groups_table(sim),
        "<h2>Webhooks</h2>",
        _hooks_table(sim),
        f"<p>Time here: {sim.clock.iso()}</p>",
    ]
    return "".join(parts)


def _runs_table(sim: Simulator, found: list[Doc]) -> str:
    rows = ""
    for run in found:
        repo = accounts.repository_by_id(sim, run["repo_id"]) or {"full_name": "?"}
        link = f"/{repo['full_name']}/actions/runs/{run['id']}"
        cells = (repo["full_name"], run["display_title"], run["attempt"], run["status"], run["conclusion"])
        rows += f"<tr><td><a href='{escape(link)}'>{run['id']}</a></td>{_cells(cells)}</tr>"
    names = ("run", "repository", "title", "attempt", "status", "conclusion")
    return f"<table><tr>{_heads(names)}</tr>{rows}</table>"


def _runners_table(sim: Simulator) -> str:
    rows = (
        (
            runner["name"],
            ", ".join(runner["labels"]),
            runner["group_id"],
            "ephemeral" if runner["ephemeral"] else "",
            "online" if runners.online(sim, runner) else "offline",
            runner["job_id"] or "idle",
        )
        for runner in sim.store.find("runner")
    )
    return _table(("runner", "labels", "group", "kind", "status", "job"), rows)


def _groups_table(sim: Simulator) -> str:
    rows = (
        (org["login"], group["id"], group["name"], group["visibility"], len(group["selected_repository_ids"]))
        for org in sim.store.find("account", type="Organization")
        for group in groups.of(sim, org)
    )
    return _table(("organization", "id", "group", "visibility", "selected repositories"), rows)


def _hooks_table(sim: Simulator) -> str:
    rows = (
        (
            " ".join(map(str, hooks.target(hook))),
            hook["config"].get("url", ""),
            ", ".join(hook["events"]),
            "active" if hook["active"] else "off",
            hook["last_response"]["message"],
        )
        for hook in sim.store.find("hook")
    )
    return _table(("belongs to", "address", "events", "state", "last answer"), rows)


def _run(sim: Simulator, request: Request) -> str | None:
    run = sim.store.get("run", request.path_params["run_id"])
    if run is None:
        return None
    rows = ""
    for job in runs_store.jobs_of(sim, run):
        link = f"{request.url.path}/job/{job['id']}"
        labels = ", ".join(job["labels"])
        cells = (job["name"], job["attempt"], labels, job["status"], job["conclusion"], job["runner_name"])
        rows += f"<tr><td><a href='{escape(link)}'>{job['id']}</a></td>{_cells(cells)}</tr>"
    names = ("job", "name", "attempt", "labels", "status", "conclusion", "runner")
    problem = f"<p>{escape(run['problem'])}</p>" if "problem" in run else ""
    return f"<h2>{escape(run['display_title'])}</h2>{problem}<table><tr>{_heads(names)}</tr>{rows}</table>"


def _job(sim: Simulator, request: Request) -> str | None:
    job = sim.store.get("job", request.path_params["job_id"])
    if job is None:
        return None
    steps = _table(
        ("step", "status", "conclusion"),
        ((step["name"], step["status"], step["conclusion"]) for step in job["steps"]),
    )
    text = sim.store.read_text(f"log:{job['id']}") or ""
    return f"<h2>{escape(job['name'])}: {escape(job['status'])}</h2>{steps}<pre>{escape(text)}</pre>"


def _table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in rows)
    return f"<table><tr>{_heads(names)}</tr>{body}</table>"


def _heads(names: Sequence[str]) -> str:
    return "".join(f"<th>{escape(name)}</th>" for name in names)


def _cells(values: Sequence[Any]) -> str:
    return "".join(f"<td>{escape('' if value is None else str(value))}</td>" for value in values)
