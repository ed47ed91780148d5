"""Asks GitLab and GitHub whether the token may do what the stack needs."""

import gitlab
import httpx
from gitlab import exceptions as gitlab_errors

from preflight.findings import Finding
from settings import GitHub, GitLab

_TIMEOUT_SECONDS = 20


def check_gitlab(settings: GitLab | None, token: str | None) -> list[Finding]:
    """Return what keeps the token from making a runner for the project or group."""
    if settings is None or token is None:
        return []
    client = gitlab.Gitlab(settings.url, private_token=token, timeout=_TIMEOUT_SECONDS)
    place = f"gitlab ({settings.url})"
    try:
        client.auth()
        _find_owner(client, settings)
    except gitlab_errors.GitlabAuthenticationError:
        return [Finding(place, "the token was refused (401)", "set a valid gitlabToken; it may have expired")]
    except gitlab_errors.GitlabError as error:
        return [_gitlab_fault(place, settings, error)]
    except OSError as error:
        return [Finding(place, f"no connection: {error}", "check gitlab.url, the network and any proxy")]
    return []


def _find_owner(client: gitlab.Gitlab, settings: GitLab) -> None:
    if settings.project:
        client.projects.get(settings.project)
    else:
        client.groups.get(settings.group)


def _gitlab_fault(place: str, settings: GitLab, error: gitlab_errors.GitlabError) -> Finding:
    if error.response_code == 403:
        return Finding(
            place,
            "the token may not do this (403)",
            "give it the scopes create_runner, manage_runner and api",
        )
    if error.response_code == 404:
        kind, path = ("project", settings.project) if settings.project else ("group", settings.group)
        return Finding(
            f"{place} gitlab.{kind}",
            f"{path!r} does not exist or the token does not see it (404)",
            "check the full path and that the token's owner is a maintainer there",
        )
    return Finding(
        place, f"the API answered {error.response_code}: {error}", "try again; see GitLab's status"
    )


def github_api(base_url: str) -> str:
    """Return the REST API's address, told from `github.baseUrl` as the provider tells it from `base_url`."""
    host = httpx.URL(base_url or "https://github.com").host.removeprefix("api.")
    if host == "github.com" or host.endswith(".ghe.com"):
        return f"https://api.{host}"
    return f"{base_url.rstrip('/').removesuffix('/api/v3')}/api/v3"


def check_github(settings: GitHub | None, token: str | None) -> list[Finding]:
    """Return what keeps the token from managing runner groups of the organisation."""
    if settings is None or token is None:
        return []
    api = github_api(settings.base_url)
    place = f"github ({api})"
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}
    try:
        answer = httpx.get(
            f"{api}/orgs/{settings.owner}/actions/runner-groups", headers=headers, timeout=_TIMEOUT_SECONDS
        )
    except httpx.HTTPError as error:
        return [Finding(place, f"no connection: {error}", "check github.baseUrl, the network and any proxy")]
    fault = _GITHUB_FAULTS.get(answer.status_code)
    if fault:
        return [Finding(f"{place} github.owner {settings.owner!r}", *fault)]
    if answer.is_error:
        return [Finding(place, f"the API answered {answer.status_code}", "try again; see GitHub's status")]
    return []


_GITHUB_FAULTS = {
    401: ("the token was refused (401)", "set a valid githubToken; it may have expired"),
    403: (
        "the token may not manage runner groups (403)",
        "give it the organisation permission 'Self-hosted runners: write' (classic: admin:org)",
    ),
    404: (
        "the organisation does not exist or the token does not see it (404)",
        "check the name and the token's access",
    ),
}
