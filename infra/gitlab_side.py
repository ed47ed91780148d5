"""The GitLab side: the runner that the instances serve."""

import pulumi
import pulumi_gitlab

from settings import GitLab, Secrets
from shadow_gpu_runners import GitLabRunner, GitLabRunnerArgs


def gitlab_runner(settings: GitLab, secrets: Secrets) -> GitLabRunner:
    """Declare the GitLab runner that the instances serve."""
    provider = pulumi_gitlab.Provider(
        "gitlab", base_url=f"{settings.url.rstrip('/')}/api/v4/", token=secrets.gitlab_token
    )
    args: GitLabRunnerArgs = {
        "url": settings.url,
        "tags": settings.tags,
        "untagged": settings.untagged,
        "protected": settings.protected,
        "maximum_timeout": settings.maximum_timeout,
        "concurrent": settings.concurrent,
        "docker": settings.docker,  # type: ignore[typeddict-item]  # checked by the component, key by key
    }
    if settings.project:
        args["project"] = settings.project
    else:
        args["group"] = settings.group
    return GitLabRunner("gitlab-runner", args, pulumi.ResourceOptions(provider=provider))
