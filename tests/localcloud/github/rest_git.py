"""Endpoints of branches, commits and file contents."""

import base64
import binascii

from localcloud.github import fields, git, payloads, triggers
from localcloud.github.accounts import account_by_id
from localcloud.github.errors import ApiError, invalid_field, not_found
from localcloud.github.http import NO_CONTENT, Api, Call, Reply
from localcloud.github.paging import page
from localcloud.github.principal import reads, writes
from localcloud.github.store import Doc

api = Api()
_READ = reads("contents", "repo", public=True)
_WRITE = writes("contents", "repo")
_REPO = "/repos/{owner}/{repo}"
_CONTENTS = _REPO + "/contents/{path:path}"


@api.route("GET", f"{_REPO}/branches", _READ)
def list_branches(call: Call) -> Reply:
    """All branches."""
    return page(call, git.branches(call.sim, call.repo), lambda doc: _short(call, doc))


@api.route("GET", _REPO + "/branches/{branch:path}", _READ)
def show_branch(call: Call) -> Reply:
    """One branch with its commit."""
    found = git.branch(call.sim, call.repo, call.path["branch"])
    if found is None:
        raise not_found()
    url = f"{_url(call)}/branches/{found['name']}"
    return Reply(
        {
            **_short(call, found),
            "commit": _commit(call, git.commit(call.sim, call.repo, found["name"]) or {}),
            "_links": {"self": url, "html": f"{call.sim.public_url}/{call.repo['full_name']}"},
            "protection": {"enabled": False},
            "protection_url": f"{url}/protection",
        }
    )


@api.route("GET", _REPO + "/git/ref/{ref:path}", _READ)
def show_ref(call: Call) -> Reply:
    """One reference, such as `heads/main`."""
    found = git.branch(call.sim, call.repo, call.path["ref"].removeprefix("heads/"))
    if found is None:
        raise not_found()
    return Reply(_ref(call, found))


@api.route("POST", f"{_REPO}/git/refs", _WRITE)
def create_ref(call: Call) -> Reply:
    """Make a branch: `{ref, sha}`."""
    name, sha = fields.text(call.body, "ref"), fields.text(call.body, "sha")
    if git.commit(call.sim, call.repo, sha) is None:
        raise ApiError(422, "Object does not exist")
    if git.branch(call.sim, call.repo, name) is not None:
        raise ApiError(422, "Reference already exists")
    return Reply(_ref(call, git.set_branch(call.sim, call.repo, name, sha)), 201)


@api.route("DELETE", _REPO + "/git/refs/{ref:path}", _WRITE)
def delete_ref(call: Call) -> Reply:
    """Remove a branch."""
    found = git.branch(call.sim, call.repo, call.path["ref"].removeprefix("heads/"))
    if found is None:
        raise ApiError(422, "Reference does not exist")
    call.sim.store.remove("branch", found)
    return NO_CONTENT


@api.route("GET", _REPO + "/commits/{ref:path}", _READ)
def show_commit(call: Call) -> Reply:
    """One commit, by sha or branch."""
    return Reply(_commit(call, _commit_of(call, call.path["ref"])))


@api.route("GET", _CONTENTS, _READ)
def show_contents(call: Call) -> Reply:
    """A file with its content, or the entries of a folder."""
    made = _commit_of(call, call.query.get("ref"))
    path = call.path["path"].strip("/")
    if path in made["tree"]:
        return Reply(_file(call, path, made["tree"][path], content=True))
    inside = sorted(name for name in made["tree"] if name.startswith(f"{path}/" if path else ""))
    if not inside:
        raise not_found()
    return Reply([_file(call, name, made["tree"][name], content=False) for name in inside])


@api.route("PUT", _CONTENTS, _WRITE, content=True)
def put_contents(call: Call) -> Reply:
    """Make or change a file: `{message, content, sha, branch}`; a change must name the old sha."""
    path = call.path["path"]
    old = _current(call, path)
    given = call.body.get("sha")
    if old is not None and given is None:
        raise ApiError(422, 'Invalid request.\n\n"sha" wasn\'t supplied.')
    if given is not None and given != old:
        raise ApiError(409, f"{path} does not match {given}")
    try:
        content = base64.b64decode(fields.text(call.body, "content"), validate=False)
    except binascii.Error as error:
        raise invalid_field("Contents", "content", "content is not valid Base64") from error
    made = _write(call, path, content)
    shown = _file(call, path, made["tree"][path], content=False)
    return Reply({"content": shown, "commit": _file_commit(call, made)}, 201 if old is None else 200)


@api.route("DELETE", _CONTENTS, _WRITE, content=True)
def delete_contents(call: Call) -> Reply:
    """Remove a file: `{message, sha, branch}`."""
    path = call.path["path"]
    old = _current(call, path)
    if old is None:
        raise not_found()
    if fields.text(call.body, "sha") != old:
        raise ApiError(409, f"{path} does not match {call.body['sha']}")
    return Reply({"content": None, "commit": _file_commit(call, _write(call, path, None))})


def _branch_name(call: Call) -> str:
    return fields.text(call.body, "branch", call.repo["default_branch"])


def _current(call: Call, path: str) -> str | None:
    branch = git.branch(call.sim, call.repo, _branch_name(call))
    if branch is None and git.branches(call.sim, call.repo):
        raise ApiError(404, f"Branch {_branch_name(call)} not found")
    made = git.commit(call.sim, call.repo, _branch_name(call)) if branch else None
    tree: dict[str, str] = made["tree"] if made else {}
    return tree.get(path)


def _write(call: Call, path: str, content: bytes | None) -> Doc:
    branch, message = _branch_name(call), fields.text(call.body, "message")
    actor = call.principal.user_id or call.repo["owner_id"]
    made = git.write_files(call.sim, call.repo, branch, {path: content}, message)
    triggers.pushed(call.sim, call.repo, branch, made, actor)
    for pull in call.sim.store.find("issue", repo_id=call.repo["id"], head=branch, state="open"):
        triggers.pull_request(call.sim, call.repo, pull, "synchronize", actor)
    return made


def _commit_of(call: Call, reference: str | None) -> Doc:
    found = git.commit(call.sim, call.repo, reference)
    if found is None:
        raise ApiError(404, f"No commit found for the ref {reference or call.repo['default_branch']}")
    return found


def _url(call: Call) -> str:
    return f"{call.sim.api_url}/repos/{call.repo['full_name']}"


def _short(call: Call, branch: Doc) -> Doc:
    commit = {"sha": branch["sha"], "url": f"{_url(call)}/commits/{branch['sha']}"}
    return {"name": branch["name"], "commit": commit, "protected": False}


def _ref(call: Call, branch: Doc) -> Doc:
    target = {"type": "commit", "sha": branch["sha"], "url": f"{_url(call)}/git/commits/{branch['sha']}"}
    name = f"refs/heads/{branch['name']}"
    return {
        "ref": name,
        "node_id": f"REF_{branch['sha']}",
        "url": f"{_url(call)}/git/{name}",
        "object": target,
    }


def _file(call: Call, path: str, sha: str, *, content: bool) -> Doc:
    data = git.blob(call.sim, sha)
    url = f"{_url(call)}/contents/{path}?ref={call.query.get('ref', call.repo['default_branch'])}"
    page_url = f"{call.sim.public_url}/{call.repo['full_name']}/blob/main/{path}"
    git_url = f"{_url(call)}/git/blobs/{sha}"
    shown: Doc = {
        "type": "file",
        "size": len(data),
        "name": path.rpartition("/")[2],
        "path": path,
        "sha": sha,
        "url": url,
        "git_url": git_url,
        "html_url": page_url,
        "download_url": page_url,
        "_links": {"self": url, "git": git_url, "html": page_url},
    }
    if content:
        shown |= {"encoding": "base64", "content": base64.encodebytes(data).decode()}
    return shown


def _person(call: Call, made: Doc) -> Doc:
    login = account_by_id(call.sim, call.repo["owner_id"])["login"]
    return {"name": login, "email": f"{login}@users.noreply.example.com", "date": made["created_at"]}


def _parents(call: Call, made: Doc) -> list[Doc]:
    sha = made["parent"]
    if sha is None:
        return []
    return [{"sha": sha, "url": f"{_url(call)}/commits/{sha}", "html_url": f"{_url(call)}/commits/{sha}"}]


def _file_commit(call: Call, made: Doc) -> Doc:
    person = _person(call, made)
    return {
        "sha": made["sha"],
        "node_id": f"C_{made['sha']}",
        "url": f"{_url(call)}/git/commits/{made['sha']}",
        "html_url": f"{call.sim.public_url}/{call.repo['full_name']}/commit/{made['sha']}",
        "author": person,
        "committer": person,
        "message": made["message"],
        "tree": {"sha": made["tree_sha"], "url": f"{_url(call)}/git/trees/{made['tree_sha']}"},
        "parents": _parents(call, made),
    }


def _commit(call: Call, made: Doc) -> Doc:
    owner = payloads.user(call.sim, account_by_id(call.sim, call.repo["owner_id"]))
    inner = _file_commit(call, made)
    return {
        "sha": made["sha"],
        "node_id": inner["node_id"],
        "url": f"{_url(call)}/commits/{made['sha']}",
        "html_url": inner["html_url"],
        "comments_url": f"{_url(call)}/commits/{made['sha']}/comments",
        "commit": {**inner, "comment_count": 0},
        "author": owner,
        "committer": owner,
        "parents": inner["parents"],
    }
