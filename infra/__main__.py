"""The stack: GPU instances on OpenStack, a GitLab runner and a GitHub runner group, as configured."""

import pulumi

import preflight
import runners
from settings import SettingsError, load


def main() -> None:
    """Check everything, then declare everything."""
    try:
        settings, secrets = load()
        preflight.run(settings)
    except (SettingsError, preflight.PreflightError) as error:
        raise pulumi.RunError(str(error)) from None
    gitlab = github = None
    # A stack without one of the forges does not wait for that forge's SDK to load.
    if settings.gitlab:
        from gitlab_side import gitlab_runner

        gitlab = gitlab_runner(settings.gitlab, secrets)
    if settings.github:
        from github_side import github_runner_group

        github = github_runner_group(settings.github, secrets)
    groups = runners.instance_groups(settings, gitlab.user_data if gitlab else None)
    pulumi.export("instances", runners.instances(settings, groups))
    pulumi.export("monthlyCost", runners.monthly_cost(groups))
    if gitlab:
        pulumi.export("gitlabRunner", {"id": gitlab.runner_id, "tags": gitlab.tags})
    if github:
        pulumi.export("githubRunnerGroup", {"id": github.group_id, "name": github.group_name})


main()
