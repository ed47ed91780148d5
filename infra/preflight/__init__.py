"""Checks of the world outside before anything is created: one error lists every fault with its remedy."""

from concurrent.futures import ThreadPoolExecutor

from preflight import cloud, forges
from preflight.findings import Finding, PreflightError
from settings import Settings, plain_secret
from shadow_gpu_runners import ownership

__all__ = ["Finding", "PreflightError", "run"]


def run(settings: Settings) -> None:
    """Ask OpenStack and the forges, all at once, whether the settings can work.

    Raises:
        PreflightError: listing every finding.
    """
    deployment = ownership.deployment_id()
    gitlab_token, github_token = (plain_secret(key) for key in ("gitlabToken", "githubToken"))
    with ThreadPoolExecutor(4) as pool:
        answers = [
            pool.submit(cloud.check, settings, deployment),
            pool.submit(cloud.check_controller, settings),
            pool.submit(forges.check_gitlab, settings.gitlab, gitlab_token),
            pool.submit(forges.check_github, settings.github, github_token),
        ]
        findings = [finding for answer in answers for finding in answer.result()]
    if findings:
        raise PreflightError(findings)
