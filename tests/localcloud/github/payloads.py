"""How accounts and repositories look in REST answers and in webhook payloads."""

from localcloud.github.accounts import account_by_id, node_id
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc

_USER_PATHS = {
    "followers_url": "/followers",
    "following_url": "/following{/other_user}",
    "gists_url": "/gists{/gist_id}",
    "starred_url": "/starred{/owner}{/repo}",
    "subscriptions_url": "/subscriptions",
    "organizations_url": "/orgs",
    "repos_url": "/repos",
    "events_url": "/events{/privacy}",
    "received_events_url": "/received_events",
}
_ORG_PATHS = {
    "repos_url": "/repos",
    "events_url": "/events",
    "hooks_url": "/hooks",
    "issues_url": "/issues",
    "members_url": "/members{/member}",
    "public_members_url": "/public_members{/member}",
}
_REPOSITORY_PATHS = {
    "forks_url": "/forks",
    "keys_url": "/keys{/key_id}",
    "collaborators_url": "/collaborators{/collaborator}",
    "teams_url": "/teams",
    "hooks_url": "/hooks",
    "issue_events_url": "/issues/events{/number}",
    "events_url": "/events",
    "assignees_url": "/assignees{/user}",
    "branches_url": "/branches{/branch}",
    "tags_url": "/tags",
    "blobs_url": "/git/blobs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "trees_url": "/git/trees{/sha}",
    "statuses_url": "/statuses/{sha}",
    "languages_url": "/languages",
    "stargazers_url": "/stargazers",
    "contributors_url": "/contributors",
    "subscribers_url": "/subscribers",
    "subscription_url": "/subscription",
    "commits_url": "/commits{/sha}",
    "git_commits_url": "/git/commits{/sha}",
    "comments_url": "/comments{/number}",
    "issue_comment_url": "/issues/comments{/number}",
    "contents_url": "/contents/{+path}",
    "compare_url": "/compare/{base}...{head}",
    "merges_url": "/merges",
    "archive_url": "/{archive_format}{/ref}",
    "downloads_url": "/downloads",
    "issues_url": "/issues{/number}",
    "pulls_url": "/pulls{/number}",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "labels_url": "/labels{/name}",
    "releases_url": "/releases{/id}",
    "deployments_url": "/deployments",
}
_COUNTS = ("stargazers_count", "watchers_count", "forks_count", "open_issues_count", "forks", "open_issues")


def user(sim: Simulator, doc: Doc) -> Doc:
    """The short form of a user, or of an organisation as an owner."""
    url = f"{sim.api_url}/users/{doc['login']}"
    return {
        "login": doc["login"],
        "id": doc["id"],
        "node_id": node_id({"User": "U", "Bot": "BOT"}.get(doc["type"], "O"), doc["id"]),
        "avatar_url": f"{sim.public_url}/avatars/u/{doc['id']}",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{sim.public_url}/{doc['login']}",
        **{name: url + path for name, path in _USER_PATHS.items()},
        "type": doc["type"],
        "site_admin": False,
    }


def organization(sim: Simulator, doc: Doc) -> Doc:
    """The short form of an organisation, as in webhook payloads."""
    url = f"{sim.api_url}/orgs/{doc['login']}"
    return {
        "login": doc["login"],
        "id": doc["id"],
        "node_id": node_id("O", doc["id"]),
        "url": url,
        **{name: url + path for name, path in _ORG_PATHS.items()},
        "avatar_url": f"{sim.public_url}/avatars/u/{doc['id']}",
        "description": doc.get("description", ""),
    }


def repository_lite(sim: Simulator, doc: Doc) -> Doc:
    """The form inside lists and workflow runs (`MinimalRepository`)."""
    url = f"{sim.api_url}/repos/{doc['full_name']}"
    return {
        "id": doc["id"],
        "node_id": node_id("R", doc["id"]),
        "name": doc["name"],
        "full_name": doc["full_name"],
        "private": doc["private"],
        "owner": user(sim, account_by_id(sim, doc["owner_id"])),
        "html_url": f"{sim.public_url}/{doc['full_name']}",
        "description": doc["description"],
        "fork": False,
        "url": url,
        **{name: url + path for name, path in _REPOSITORY_PATHS.items()},
    }


def repository(sim: Simulator, doc: Doc) -> Doc:
    """The form in webhook payloads and list answers."""
    page = f"{sim.public_url}/{doc['full_name']}"
    host = sim.public_url.split("://", 1)[1]
    return {
        **repository_lite(sim, doc),
        "created_at": doc["created_at"],
        "updated_at": doc["updated_at"],
        "pushed_at": doc["pushed_at"],
        "git_url": f"git://{host}/{doc['full_name']}.git",
        "ssh_url": f"git@{host}:{doc['full_name']}.git",
        "clone_url": f"{page}.git",
        "svn_url": page,
        **dict.fromkeys(("homepage", "language", "mirror_url", "license")),
        **dict.fromkeys(_COUNTS, 0),
        "size": 1,
        "watchers": 0,
        "has_issues": True,
        "has_projects": True,
        "has_downloads": True,
        "has_wiki": True,
        "has_pages": False,
        "has_discussions": False,
        "archived": doc["archived"],
        "disabled": False,
        "allow_forking": True,
        "is_template": False,
        "web_commit_signoff_required": False,
        "topics": [],
        "custom_properties": {},
        "visibility": "private" if doc["private"] else "public",
        "default_branch": doc["default_branch"],
    }


def repository_full(sim: Simulator, doc: Doc) -> Doc:
    """The form of `GET /repos/{owner}/{repo}` (`FullRepository`)."""
    return {
        **repository(sim, doc),
        "subscribers_count": 0,
        "network_count": 0,
        "permissions": {"admin": True, "maintain": True, "push": True, "triage": True, "pull": True},
        "allow_squash_merge": True,
        "allow_merge_commit": True,
        "allow_rebase_merge": True,
        "delete_branch_on_merge": False,
    }
