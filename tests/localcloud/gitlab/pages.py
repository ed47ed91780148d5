"""Pages for people: projects, pipelines, jobs and logs, without sign-in, for this machine only.

They are coroutines so that they run in the event loop's thread, the only one that may use the database.
"""

import re
from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from localcloud.gitlab.clock import seconds_between
from localcloud.gitlab.instance import Instance
from localcloud.gitlab.store import Row

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#222}
table{border-collapse:collapse;width:100%}
td,th{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #ddd}
pre{background:#161616;color:#eee;padding:1rem;overflow:auto;border-radius:4px}
.s{padding:.1rem .5rem;border-radius:1rem;background:#ddd}
.success{background:#b7e4c7}.failed{background:#f5b7b1}
.running{background:#aed6f1}.pending{background:#fdebd0}.canceled,.skipped{background:#ccc}a{color:#1f75cb}
"""
CONTROL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|section_(?:start|end):\d+:[\w.-]+(?:\[[^\]]*\])?\r")


def _page(title: str, body: str, *, refresh: bool = False) -> HTMLResponse:
    again = '<meta http-equiv="refresh" content="3">' if refresh else ""
    head = f'<meta charset="utf-8">{again}<title>{escape(title)}</title><style>{STYLE}</style>'
    return HTMLResponse(
        f'<!doctype html><html lang="en"><head>{head}</head>'
        f"<body><h1>{title_with_home(title)}</h1>{body}</body></html>"
    )


def title_with_home(title: str) -> str:
    """The page's title after a link to the start."""
    return f'<a href="/">GitLab simulator</a> · {escape(title)}'


def _badge(status: str) -> str:
    return f'<span class="s {escape(status)}">{escape(status)}</span>'


def _table(heads: list[str], rows: list[list[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{lines}</table>"


def _link(url: str, text: object) -> str:
    return f'<a href="{escape(url)}">{escape(str(text))}</a>'


def _took(row: Row) -> str:
    seconds = seconds_between(row["started_at"], row["finished_at"])
    return "" if seconds is None else f"{seconds:.1f} s"


def _instance(request: Request) -> Instance:
    instance: Instance = request.app.state.instance
    return instance


async def home(request: Request) -> HTMLResponse:
    """Projects and runners."""
    instance = _instance(request)
    store = instance.store
    projects = [
        [
            _link(f"/{row['full_path']}", row["full_path"]),
            str(len(store.find("pipelines", project_id=row["id"]))),
            row["visibility"],
        ]
        for row in store.find("projects")
    ]
    runners = [
        [
            str(row["id"]),
            escape(row["description"]),
            row["runner_type"],
            escape(", ".join(row["tag_list"])),
            row["contacted_at"] or "never",
        ]
        for row in store.find("runners")
    ]
    body = _table(["Project", "Pipelines", "Visibility"], projects) + "<h2>Runners</h2>"
    return _page("Projects", body + _table(["Id", "Description", "Type", "Tags", "Last contact"], runners))


async def project(request: Request) -> HTMLResponse:
    """Pipelines and merge requests of a project."""
    store, path = _instance(request).store, request.path_params["path"]
    row = store.one("projects", full_path=path)
    if row is None:
        return _missing(path)
    pipelines = [
        [_link(f"/{path}/-/pipelines/{item['id']}", f"#{item['id']}"), _badge(item["status"]),
         escape(item["ref"]), item["sha"][:8],
         item["source"], item["created_at"]]
        for item in store.find("pipelines", project_id=row["id"])[::-1]
    ]  # fmt: skip
    requests = [
        [
            _link(f"/{path}/-/merge_requests/{item['iid']}", f"!{item['iid']}"),
            escape(item["title"]),
            item["state"],
        ]
        for item in store.find("merge_requests", project_id=row["id"])[::-1]
    ]
    body = _table(["Pipeline", "Status", "Ref", "Commit", "Source", "Created"], pipelines)
    return _page(path, body + "<h2>Merge requests</h2>" + _table(["", "Title", "State"], requests))


async def pipeline(request: Request) -> HTMLResponse:
    """One pipeline with its jobs by stage."""
    store, path = _instance(request).store, request.path_params["path"]
    row = store.one("pipelines", id=int(request.path_params["number"]))
    if row is None:
        return _missing(f"{path} pipeline {request.path_params['number']}")
    jobs = [
        [escape(item["stage"]), _link(f"/{path}/-/jobs/{item['id']}", item["name"]), _badge(item["status"]),
         escape(", ".join(item["tag_list"])), _took(item), escape(item["failure_reason"] or ""),
         "retried" if item["retried"] else ""]
        for item in sorted(store.find("jobs", pipeline_id=row["id"]), key=lambda item: item["stage_index"])
    ]  # fmt: skip
    errors = (
        f"<h2>Faults in the CI file</h2><pre>{escape(row['yaml_errors'])}</pre>" if row["yaml_errors"] else ""
    )
    words = f"{escape(row['ref'])} {row['sha'][:8]}, by {row['source']}, {_link('/' + path, path)}"
    facts = f"<p>{_badge(row['status'])} {words}</p>"
    table = _table(["Stage", "Job", "Status", "Tags", "Took", "Failure", ""], jobs)
    return _page(f"Pipeline #{row['id']}", facts + errors + table, refresh=not row["finished_at"])


async def job(request: Request) -> HTMLResponse:
    """One job with its log."""
    instance, path = _instance(request), request.path_params["path"]
    row = instance.store.one("jobs", id=int(request.path_params["number"]))
    if row is None:
        return _missing(f"{path} job {request.path_params['number']}")
    file = instance.traces / f"{row['id']}.log"
    log = CONTROL.sub("", file.read_text(errors="replace")) if file.exists() else ""
    back = _link(f"/{path}/-/pipelines/{row['pipeline_id']}", f"pipeline #{row['pipeline_id']}")
    reason = escape(row["failure_reason"] or "")
    if row["status"] == "pending":
        reason = f"waits for a runner with the tags {escape(', '.join(row['tag_list']) or '(none)')}"
    facts = f"<p>{_badge(row['status'])} {reason} {_took(row)} · {back}</p>"
    return _page(
        f"{row['name']} #{row['id']}", f"{facts}<pre>{escape(log)}</pre>", refresh=not row["finished_at"]
    )


async def merge_request(request: Request) -> HTMLResponse:
    """One merge request with its comments."""
    store, path = _instance(request).store, request.path_params["path"]
    owner = store.one("projects", full_path=path)
    row = (
        store.one("merge_requests", project_id=owner["id"], iid=int(request.path_params["number"]))
        if owner
        else None
    )
    if row is None:
        return _missing(f"{path} merge request {request.path_params['number']}")
    notes = "".join(
        f"<pre>{escape(item['body'])}</pre>" for item in store.find("notes", merge_request_id=row["id"])
    )
    facts = f"<p>{row['state']}: {escape(row['source_branch'])} into {escape(row['target_branch'])}</p>"
    return _page(f"!{row['iid']} {row['title']}", f"{facts}<p>{escape(row['description'])}</p>{notes}")


def _missing(what: str) -> HTMLResponse:
    page = _page("Not found", f"<p>There is no {escape(what)} here.</p>")
    page.status_code = 404
    return page


routes = [
    Route("/", home),
    Route("/{path:path}/-/pipelines/{number:int}", pipeline),
    Route("/{path:path}/-/jobs/{number:int}", job),
    Route("/{path:path}/-/merge_requests/{number:int}", merge_request),
    Route("/{path:path}/-/pipelines", project),
    Route("/{path:path}", project),
]
