"""The stack: GPU instances on OpenStack, a GitLab runner and a GitHub runner group, as configured."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import pulumi

import preflight
import runners
from settings import SettingsError, load

T = TypeVar("T")


def main() -> None:
    """Check everything, then declare everything."""
    try:
        settings, secrets = load()
        preflight.run(settings)
    except (SettingsError, preflight.PreflightError) as error:
        raise pulumi.RunError(str(error)) from None
    gitlab = github = None
    faults: list[str] = []
    # A stack without one of the forges does not wait for that forge's SDK to load.
    if settings.gitlab:
        from gitlab_side import gitlab_runner

        gitlab = declared(partial(gitlab_runner, settings.gitlab, secrets), faults)
    if settings.github:
        from github_side import github_runner_group

        hook = settings.autoscaler.url if settings.autoscaler else ""
        github = declared(partial(github_runner_group, settings.github, secrets, hook), faults)
    user_data = gitlab.user_data if gitlab else None
    stand = declared(partial(runners.base, settings), faults)
    if stand is None:
        raise pulumi.RunError("\n".join(faults))
    groups = declared(partial(runners.instance_groups, settings, stand, user_data), faults)
    controller = None
    if wanted := settings.autoscaler:
        from autoscaler_side import Parts, autoscaler

        controller = declared(partial(autoscaler, Parts.of(settings, wanted, secrets, stand)), faults)
    if groups is None or faults:
        raise pulumi.RunError("\n".join(faults))
    pulumi.export("instances", runners.instances(settings, groups))
    pulumi.export("monthlyCost", runners.monthly_cost(groups))
    if controller:
        outputs = {"url": controller.url, "server": controller.server_id, "version": controller.version}
        pulumi.export("autoscaler", outputs)
    if gitlab:
        pulumi.export("gitlabRunner", {"id": gitlab.runner_id, "tags": gitlab.tags})
    if github:
        pulumi.export("githubRunnerGroup", {"id": github.group_id, "name": github.group_name})


def declared(build: Callable[[], T], faults: list[str]) -> T | None:
    """Return what `build` declares, or None and its inputs' faults in `faults`: all parts report together."""
    try:
        return build()
    except pulumi.InputPropertiesError as error:
        faults.append(str(error))
        return None


main()
