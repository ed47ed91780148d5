"""A runner group for one repository, told of jobs by a signed webhook."""

import pulumi
import pulumi_github as github

from shadow_gpu_runners import GitHubRunnerGroup

config = pulumi.Config()
forge = github.Provider(
    "github",
    owner=config.require("owner"),
    base_url=config.require("githubUrl"),
    token=config.require_secret("githubToken"),
)

group = GitHubRunnerGroup(
    "shadow-gpu",
    {
        "repositories": [config.require("repository")],
        "labels": ["self-hosted", "linux", "x64", "shadow-gpu"],
        "variables": {"SHADOW_REGION": "FRSBG01"},
        "webhook": {
            "url": config.require("receiver"),
            "secret": config.require_secret("webhookSecret"),
            "events": ["workflow_job", "workflow_run"],
        },
    },
    pulumi.ResourceOptions(provider=forge),
)

pulumi.export("groupId", group.group_id)
pulumi.export("webhookIds", group.webhook_ids)
pulumi.export("labels", group.labels)
