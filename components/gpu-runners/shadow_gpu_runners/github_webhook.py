"""Webhook for `workflow_job`, in an organisation or in single repositories, with a signed body."""

from typing import NotRequired, TypedDict

import pulumi
import pulumi_github as github

from shadow_gpu_runners import _github_checks
from shadow_gpu_runners._validation import checked


class GitHubWebhookArgs(TypedDict):
    """Where GitHub announces jobs."""

    url: pulumi.Input[str]
    """Receiver; https, or http on this machine."""

    secret: pulumi.Input[str]
    """Key that signs each delivery, at least 20 random characters (a secret)."""

    events: NotRequired[list[str]]
    """`workflow_job` (when left out), and `workflow_run` where lost jobs are to be run again."""

    active: NotRequired[bool]
    """Whether GitHub delivers; true when left out."""

    insecure_ssl: NotRequired[bool]
    """Whether GitHub takes any certificate of the receiver; false when left out."""


def webhooks(
    parent: pulumi.Resource, name: str, args: GitHubWebhookArgs, repositories: list[str] | None
) -> tuple[dict[str, pulumi.Output[str]], pulumi.Output[str]]:
    """Make one webhook per repository, or the organisation's when there is no list.

    Returns the IDs by repository, or under `organization`, and the address.
    """
    where = f"GitHubRunnerGroup {name!r}"
    url = checked(args["url"], where, lambda problems, value: _github_checks.check_address(value, problems))
    secret = checked(
        args["secret"], where, lambda problems, value: _github_checks.check_secret(value, problems)
    )
    hook = _Hook(parent, name, args, url, pulumi.Output.secret(secret))
    if repositories is None:
        return {"organization": hook.in_organization()}, url
    return {each: hook.in_repository(each) for each in repositories}, url


class _Hook:
    """One webhook, to be put into several places."""

    def __init__(
        self,
        parent: pulumi.Resource,
        name: str,
        args: GitHubWebhookArgs,
        url: pulumi.Output[str],
        secret: pulumi.Output[str],
    ) -> None:
        self.name = name
        self.url = url
        self.secret = secret
        self.events = args.get("events", ["workflow_job"])
        self.active = args.get("active", True)
        self.insecure = args.get("insecure_ssl", False)
        # GitHub's provider marks nothing of it secret, so the whole answer is.
        self.opts = pulumi.ResourceOptions(parent=parent, additional_secret_outputs=["configuration"])

    def in_organization(self) -> pulumi.Output[str]:
        configuration = github.OrganizationWebhookConfigurationArgs(
            url=self.url, content_type="json", insecure_ssl=self.insecure, secret=self.secret
        )
        return github.OrganizationWebhook(
            f"{self.name}-webhook",
            events=self.events,
            active=self.active,
            configuration=configuration,
            opts=self.opts,
        ).id

    def in_repository(self, repository: str) -> pulumi.Output[str]:
        configuration = github.RepositoryWebhookConfigurationArgs(
            url=self.url, content_type="json", insecure_ssl=self.insecure, secret=self.secret
        )
        return github.RepositoryWebhook(
            f"{self.name}-webhook-{repository.replace('/', '-')}",
            repository=repository.rpartition("/")[2],
            events=self.events,
            active=self.active,
            configuration=configuration,
            opts=self.opts,
        ).id
