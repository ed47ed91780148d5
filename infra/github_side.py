"""The GitHub side: the runner group with its webhook and variables."""

import pulumi
import pulumi_github

from settings import GitHub, Secrets
from shadow_gpu_runners import GitHubRunnerGroup, GitHubRunnerGroupArgs


def github_runner_group(settings: GitHub, secrets: Secrets, autoscaler_url: str = "") -> GitHubRunnerGroup:
    """Declare the GitHub runner group, its webhook (to the autoscaler, if there is one) and its variables."""
    base_url = f"{settings.base_url.rstrip('/')}/" if settings.base_url else None
    provider = pulumi_github.Provider(
        "github", owner=settings.owner, base_url=base_url, token=secrets.github_token
    )
    args: GitHubRunnerGroupArgs = {
        "group_name": settings.group,
        "visibility": settings.visibility,
        "labels": settings.labels,
        "labels_variable": settings.labels_variable,
    }
    if settings.repositories:
        args["repositories"] = settings.repositories
    if settings.workflows:
        args["workflows"] = settings.workflows
    if settings.variables:
        args["variables"] = {**settings.variables}
    if autoscaler_url and secrets.webhook_secret is not None:
        args["webhook"] = {
            "url": f"{autoscaler_url.rstrip('/')}/webhook/github",
            "events": ["workflow_job", "workflow_run"],
            "secret": secrets.webhook_secret,
        }
    elif settings.webhook and secrets.webhook_secret is not None:
        hook = settings.webhook
        args["webhook"] = {"url": hook.url, "active": hook.active, "secret": secrets.webhook_secret}
    return GitHubRunnerGroup("github", args, pulumi.ResourceOptions(provider=provider))
