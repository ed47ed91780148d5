"""Where this runs: a GitHub workflow, a GitLab pipeline or a terminal, told by the environment."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from preview.comments import Thread
from preview.digest import Json, part
from preview.errors import CommentError, InputError

_EVENT: Final = "expected the JSON of the event, as GitHub writes it"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the environment says about the run."""

    forge: str = ""
    """`github`, `gitlab`, or empty outside both."""
    run: int = 0
    """Number that grows from run to run, so that an older run never overwrites a newer one's comment."""
    link: str = ""
    commit: str = ""

    @property
    def footer(self) -> str:
        """Last line of the comment."""
        told = [f"commit {self.commit[:8]}"] if self.commit else []
        told += [f"[job]({self.link})"] if self.link else []
        return " · ".join(told)


def detect(env: Mapping[str, str]) -> Surroundings:
    """Read the environment."""
    if env.get("GITHUB_ACTIONS") == "true":
        job = env.get("GITHUB_RUN_ID", "")
        where = f"{env.get('GITHUB_SERVER_URL', 'https://github.com')}/{env.get('GITHUB_REPOSITORY', '')}"
        run = _number(env, "GITHUB_RUN_ID", 0) * 100 + _number(env, "GITHUB_RUN_ATTEMPT", 1)
        head = part(part(_event(env), "pull_request"), "head")
        commit = str(head.get("sha") or "") or env.get("GITHUB_SHA", "")
        return Surroundings("github", run, f"{where}/actions/runs/{job}" if job else "", commit)
    if env.get("GITLAB_CI") == "true":
        run, commit = _number(env, "CI_JOB_ID", 0), env.get("CI_COMMIT_SHA", "")
        return Surroundings("gitlab", run, env.get("CI_JOB_URL", ""), commit)
    return Surroundings()


def thread(env: Mapping[str, str], forge: str) -> Thread:
    """The conversation of this run. Raises CommentError where there is none or no token for it."""
    if forge == "github":
        return _github(env)
    if forge == "gitlab":
        return _gitlab(env)
    raise CommentError("neither GITHUB_ACTIONS nor GITLAB_CI is set, so there is no request to comment on")


def _github(env: Mapping[str, str]) -> Thread:
    from preview.github_thread import GitHubThread

    number = part(_event(env), "pull_request").get("number") or _number(env, "PREVIEW_PULL_REQUEST", 0)
    if not isinstance(number, int) or not number:
        raise CommentError("this run belongs to no pull request")
    return GitHubThread(
        env.get("GITHUB_API_URL", "https://api.github.com"),
        _token(env, "GITHUB_TOKEN"),
        env.get("GITHUB_REPOSITORY", ""),
        number,
    )


def _gitlab(env: Mapping[str, str]) -> Thread:
    from preview.gitlab_thread import GitLabThread

    iid = _number(env, "CI_MERGE_REQUEST_IID", 0)
    if not iid:
        raise CommentError("this pipeline belongs to no merge request")
    url = env.get("CI_SERVER_URL") or env.get("CI_API_V4_URL", "https://gitlab.com")
    return GitLabThread(url, _token(env, "PREVIEW_GITLAB_TOKEN"), env.get("CI_PROJECT_ID", ""), iid)


def _token(env: Mapping[str, str], name: str) -> str:
    if not env.get(name):
        raise CommentError(f"{name} is not set; pipelines of forks do not get it")
    return env[name]


def _event(env: Mapping[str, str]) -> Json:
    file = env.get("GITHUB_EVENT_PATH")
    if not file:
        return {}
    try:
        found: Any = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"GITHUB_EVENT_PATH {file}: {error}; {_EVENT}") from None
    if not isinstance(found, Mapping):
        raise InputError(f"GITHUB_EVENT_PATH {file}: holds no object; {_EVENT}")
    return cast("Json", found)


def _number(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name) or str(default)
    if not (text.isascii() and text.isdigit()):
        raise InputError(f"{name} is {text!r}, expected a whole number; leave it as the forge sets it")
    return int(text)
