"""Endpoints of issues, pull requests and their comments."""

from localcloud.github import accounts, fields, git, payloads, triggers
from localcloud.github.errors import ApiError, invalid_field, not_found
from localcloud.github.http import NO_CONTENT, Api, Call, Reply
from localcloud.github.paging import page
from localcloud.github.principal import Access, reads, writes
from localcloud.github.store import Doc

api = Api()
_REPO = "/repos/{owner}/{repo}"
_ISSUE = _REPO + "/issues/{number}"
_COMMENT = _REPO + "/issues/comments/{comment_id}"
_PULL = _REPO + "/pulls/{number}"
_READ_PULLS = reads("pull_requests", "repo", public=True)
_WRITE_PULLS = writes("pull_requests", "repo")
_READ_ISSUES = reads("issues", "repo", public=True)
_WRITE_ISSUES = writes("issues", "repo")
# Comments on a pull request need either permission.
_READ_COMMENTS = Access("issues", "read", ("repo",), public=True, other="pull_requests")
_WRITE_COMMENTS = Access("issues", "write", ("repo",), other="pull_requests")


@api.route("GET", f"{_REPO}/pulls", _READ_PULLS)
def list_pulls(call: Call) -> Reply:
    """Pull requests by state, head and base; newest first."""
    wanted = call.query.get("state", "open")
    found = [doc for doc in _issues(call) if doc["head"] is not None and wanted in (doc["state"], "all")]
    if head := call.query.get("head"):
        found = [doc for doc in found if doc["head"] == head.rpartition(":")[2]]
    if base := call.query.get("base"):
        found = [doc for doc in found if doc["base"] == base]
    return page(call, found[::-1], lambda doc: show_pull(call, doc))


@api.route("POST", f"{_REPO}/pulls", _WRITE_PULLS, content=True)
def create_pull(call: Call) -> Reply:
    """Open a pull request between two branches; workflows on `pull_request` start."""
    head = fields.text(call.body, "head").rpartition(":")[2]
    base = fields.text(call.body, "base")
    for name, branch in (("head", head), ("base", base)):
        if git.branch(call.sim, call.repo, branch) is None:
            raise invalid_field("PullRequest", name)
    for doc in _issues(call):
        if doc["head"] == head and doc["base"] == base and doc["state"] == "open":
            detail = f"A pull request already exists for {call.repo['full_name'].split('/')[0]}:{head}."
            raise ApiError(422, "Validation Failed", errors=[{"resource": "PullRequest", "message": detail}])
    pull = _new_issue(call, head, base)
    triggers.pull_request(call.sim, call.repo, pull, "opened", _actor(call))
    return Reply(show_pull(call, pull, full=True), 201)


@api.route("GET", _PULL, _READ_PULLS)
def get_pull(call: Call) -> Reply:
    """One pull request."""
    return Reply(show_pull(call, _pull(call), full=True))


@api.route("PATCH", _PULL, _WRITE_PULLS)
def update_pull(call: Call) -> Reply:
    """Change title, body or state."""
    return Reply(show_pull(call, _update(call, _pull(call)), full=True))


@api.route("GET", f"{_PULL}/files", _READ_PULLS)
def list_pull_files(call: Call) -> Reply:
    """Files that differ between base and head."""
    pull = _pull(call)
    head, base = (_tree(call, pull[name]) for name in ("head", "base"))
    names = sorted(name for name in head.keys() | base.keys() if head.get(name) != base.get(name))
    return page(call, names, lambda name: _changed(call, name, head.get(name), base.get(name)))


def _changed(call: Call, name: str, new: str | None, old: str | None) -> Doc:
    status = "added" if old is None else "removed" if new is None else "modified"
    page_url = f"{call.sim.public_url}/{call.repo['full_name']}"
    return {
        "filename": name,
        "status": status,
        "sha": new or old,
        "additions": 1,
        "deletions": 0,
        "changes": 1,
        "blob_url": f"{page_url}/blob/{name}",
        "raw_url": f"{page_url}/raw/{name}",
        "contents_url": f"{call.sim.api_url}/repos/{call.repo['full_name']}/contents/{name}",
    }


@api.route("GET", f"{_REPO}/issues", _READ_ISSUES)
def list_issues(call: Call) -> Reply:
    """Issues and pull requests."""
    wanted = call.query.get("state", "open")
    found = [doc for doc in _issues(call) if wanted in (doc["state"], "all")]
    return page(call, found[::-1], lambda doc: show_issue(call, doc))


@api.route("POST", f"{_REPO}/issues", _WRITE_ISSUES, content=True)
def create_issue(call: Call) -> Reply:
    """Open an issue."""
    return Reply(show_issue(call, _new_issue(call, None, None)), 201)


@api.route("GET", _ISSUE, _READ_ISSUES)
def get_issue(call: Call) -> Reply:
    """One issue or pull request."""
    return Reply(show_issue(call, _issue(call)))


@api.route("PATCH", _ISSUE, _WRITE_ISSUES)
def update_issue(call: Call) -> Reply:
    """Change title, body or state."""
    return Reply(show_issue(call, _update(call, _issue(call))))


@api.route("GET", f"{_ISSUE}/comments", _READ_COMMENTS)
def list_comments(call: Call) -> Reply:
    """Comments, oldest first."""
    issue = _issue(call)
    found = call.sim.store.find("comment", repo_id=call.repo["id"], number=issue["number"])
    return page(call, found, lambda doc: show_comment(call, doc))


@api.route("POST", f"{_ISSUE}/comments", _WRITE_COMMENTS, content=True)
def create_comment(call: Call) -> Reply:
    """Add a comment."""
    issue = _issue(call)
    now = call.sim.clock.iso()
    comment = call.sim.store.save(
        "comment",
        {
            "id": call.sim.store.next_id("comment", 2_500_000_001),
            "repo_id": call.repo["id"],
            "number": issue["number"],
            "body": _comment_body(call),
            "user_id": _actor(call),
            "created_at": now,
            "updated_at": now,
        },
    )
    return Reply(show_comment(call, comment), 201)


@api.route("GET", _COMMENT, _READ_COMMENTS)
def get_comment(call: Call) -> Reply:
    """One comment."""
    return Reply(show_comment(call, _comment(call)))


@api.route("PATCH", _COMMENT, _WRITE_COMMENTS, content=True)
def update_comment(call: Call) -> Reply:
    """Change a comment's text."""
    comment = _comment(call)
    comment |= {"body": _comment_body(call), "updated_at": call.sim.clock.iso()}
    call.sim.store.save("comment", comment)
    return Reply(show_comment(call, comment))


@api.route("DELETE", _COMMENT, _WRITE_COMMENTS)
def delete_comment(call: Call) -> Reply:
    """Remove a comment."""
    call.sim.store.remove("comment", _comment(call))
    return NO_CONTENT


_MAX_BODY = 65_536


def _comment_body(call: Call) -> str:
    body = fields.text(call.body, "body")
    if not body.strip():
        raise invalid_field("IssueComment", "data", "Body cannot be blank", "unprocessable")
    if len(body) > _MAX_BODY:
        raise invalid_field("IssueComment", "data", f"Body is too long (maximum is {_MAX_BODY} characters)")
    return body


def _issues(call: Call) -> list[Doc]:
    return call.sim.store.find("issue", repo_id=call.repo["id"])


def _new_issue(call: Call, head: str | None, base: str | None) -> Doc:
    number = call.sim.store.next_id(f"issue:{call.repo['id']}")
    now = call.sim.clock.iso()
    doc: Doc = {
        "key": f"{call.repo['id']}:{number}",
        "id": call.sim.store.next_id("issue_id", 3_100_000_001),
        "number": number,
        "repo_id": call.repo["id"],
        "title": fields.text(call.body, "title"),
        "body": call.body.get("body"),
        "state": "open",
        "head": head,
        "base": base,
        "user_id": _actor(call),
        "created_at": now,
        "updated_at": now,
        "closed_at": None,
    }
    return call.sim.store.save("issue", doc)


def _update(call: Call, doc: Doc) -> Doc:
    for name in ("title", "body"):
        if name in call.body:
            doc[name] = call.body[name]
    doc["state"] = fields.choice(call.body, "state", ("open", "closed"), doc["state"])
    doc["updated_at"] = call.sim.clock.iso()
    doc["closed_at"] = doc["updated_at"] if doc["state"] == "closed" else None
    return call.sim.store.save("issue", doc)


def _issue(call: Call) -> Doc:
    found = call.sim.store.get("issue", f"{call.repo['id']}:{call.number('number')}")
    if found is None:
        raise not_found()
    return found


def _pull(call: Call) -> Doc:
    found = _issue(call)
    if found["head"] is None:
        raise not_found()
    return found


def _comment(call: Call) -> Doc:
    found = call.sim.store.get("comment", call.number("comment_id"))
    if found is None or found["repo_id"] != call.repo["id"]:
        raise not_found()
    return found


def _actor(call: Call) -> int:
    return call.principal.user_id or int(call.repo["owner_id"])


def _tree(call: Call, branch: str) -> dict[str, str]:
    made = git.commit(call.sim, call.repo, branch)
    return dict(made["tree"]) if made else {}


def _user(call: Call, user_id: int) -> Doc:
    return payloads.user(call.sim, accounts.account_by_id(call.sim, user_id))


def show_comment(call: Call, doc: Doc) -> Doc:
    """REST form of a comment."""
    base = f"{call.sim.api_url}/repos/{call.repo['full_name']}"
    page_url = f"{call.sim.public_url}/{call.repo['full_name']}/issues/{doc['number']}"
    return {
        "id": doc["id"],
        "node_id": accounts.node_id("IC", doc["id"]),
        "url": f"{base}/issues/comments/{doc['id']}",
        "html_url": f"{page_url}#issuecomment-{doc['id']}",
        "issue_url": f"{base}/issues/{doc['number']}",
        "body": doc["body"],
        "user": _user(call, doc["user_id"]),
        "created_at": doc["created_at"],
        "updated_at": doc["updated_at"],
        "author_association": "MEMBER",
        "performed_via_github_app": None,
    }


def show_issue(call: Call, doc: Doc) -> Doc:
    """REST form of an issue."""
    base = f"{call.sim.api_url}/repos/{call.repo['full_name']}"
    url = f"{base}/issues/{doc['number']}"
    page_url = f"{call.sim.public_url}/{call.repo['full_name']}"
    names = ("id", "number", "title", "body", "state", "created_at", "updated_at", "closed_at")
    shown: Doc = {
        **{name: doc[name] for name in names},
        "node_id": accounts.node_id("I", doc["id"]),
        "url": url,
        "repository_url": base,
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "html_url": f"{page_url}/{'pull' if doc['head'] else 'issues'}/{doc['number']}",
        "user": _user(call, doc["user_id"]),
        "labels": [],
        "assignees": [],
        "assignee": None,
        "milestone": None,
        "locked": False,
        "comments": len(call.sim.store.find("comment", repo_id=doc["repo_id"], number=doc["number"])),
        "author_association": "MEMBER",
    }
    if doc["head"]:
        shown["pull_request"] = {"url": f"{base}/pulls/{doc['number']}"}
    return shown


def show_pull(call: Call, doc: Doc, *, full: bool = False) -> Doc:
    """REST form of a pull request."""
    issue = show_issue(call, doc)
    base = f"{call.sim.api_url}/repos/{call.repo['full_name']}"
    url = f"{base}/pulls/{doc['number']}"
    same = ("id", "node_id", "number", "title", "body", "state", "locked", "user", "labels", "milestone")
    dates = ("created_at", "updated_at", "closed_at", "html_url", "comments_url", "author_association")
    shown: Doc = {
        **{name: issue[name] for name in (*same, *dates, "assignee", "assignees")},
        "url": url,
        "diff_url": f"{issue['html_url']}.diff",
        "patch_url": f"{issue['html_url']}.patch",
        "issue_url": issue["url"],
        "commits_url": f"{url}/commits",
        "review_comments_url": f"{url}/comments",
        "review_comment_url": f"{base}/pulls/comments{{/number}}",
        "statuses_url": f"{base}/statuses/{_sha(call, doc['head'])}",
        "head": _side(call, doc["head"]),
        "base": _side(call, doc["base"]),
        "_links": {name: {"href": url} for name in _LINKS},
        "draft": False,
        "merged_at": None,
        "merge_commit_sha": None,
        "auto_merge": None,
        "requested_reviewers": [],
        "requested_teams": [],
    }
    return {**shown, **_PULL_COUNTS, "comments": issue["comments"]} if full else shown


_LINKS = ("comments", "commits", "statuses", "html", "issue", "review_comments", "review_comment", "self")
_PULL_COUNTS: Doc = {
    "merged": False,
    "mergeable": True,
    "rebaseable": True,
    "mergeable_state": "clean",
    "merged_by": None,
    "maintainer_can_modify": False,
    **dict.fromkeys(("review_comments", "commits", "additions", "deletions", "changed_files"), 1),
}


def _sha(call: Call, branch: str) -> str:
    made = git.commit(call.sim, call.repo, branch)
    return str(made["sha"]) if made else "0" * 40


def _side(call: Call, branch: str) -> Doc:
    owner = _user(call, call.repo["owner_id"])
    return {
        "label": f"{owner['login']}:{branch}",
        "ref": branch,
        "sha": _sha(call, branch),
        "user": owner,
        "repo": payloads.repository(call.sim, call.repo),
    }
