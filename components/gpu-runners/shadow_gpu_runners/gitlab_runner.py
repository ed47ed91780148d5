"""GitLab runner: its registration as code, and configuration and user-data of the machines that serve it."""

from collections.abc import Mapping
from typing import NotRequired, TypedDict, cast

import pulumi
import pulumi_gitlab as gitlab

from shadow_gpu_runners import _gitlab_checks, _known, boot_files, ownership
from shadow_gpu_runners import config_toml as toml
from shadow_gpu_runners._boot_args import BootArgs, settings_from
from shadow_gpu_runners._validation import InvalidInputsError, Problems, whole
from shadow_gpu_runners.cloud_init import UserDataTooLargeError
from shadow_gpu_runners.config_toml import CacheOptions, DockerOptions, GlobalOptions, RunnerOptions

_TOKEN_OF_USUAL_LENGTH = "glrt-" + "x" * 60


class GitLabRunnerArgs(TypedDict):
    """Inputs of `GitLabRunner`. Exactly one of project, project_id, group, group_id and instance is given."""

    project: NotRequired[pulumi.Input[str]]
    """Full path of the project that the runner serves."""

    project_id: NotRequired[pulumi.Input[int]]
    """The same by ID, for example of a project that the program makes."""

    group: NotRequired[pulumi.Input[str]]
    """Full path of the group that the runner serves."""

    group_id: NotRequired[pulumi.Input[int]]
    """The same by ID."""

    instance: NotRequired[bool]
    """Whether the runner serves the whole GitLab instance."""

    url: NotRequired[pulumi.Input[str]]
    """Address of GitLab as machines reach it; `https://gitlab.com/` when left out."""

    tags: NotRequired[list[str]]
    """Tags that jobs ask for; `shadow-gpu` when left out."""

    untagged: NotRequired[bool]
    """Whether jobs without tags are taken; false when left out."""

    locked: NotRequired[bool]
    """Whether the runner stays with its project; true for projects when left out."""

    protected: NotRequired[bool]
    """Whether only jobs of protected branches and tags are taken; false when left out."""

    maximum_timeout: NotRequired[int]
    """Longest time of a job in seconds, at least 600; 3600 when left out."""

    paused: NotRequired[bool]
    """Whether no new jobs are taken."""

    description: NotRequired[str]
    """Name of the runner in GitLab; the component's name when left out."""

    maintenance_note: NotRequired[str]
    """Note for those who run GitLab, before the ownership mark."""

    concurrent: NotRequired[int]
    """Jobs at the same time on one machine; 1 when left out."""

    limit: NotRequired[int]
    """Most jobs of this runner on one machine, at most `concurrent`."""

    environment: NotRequired[list[pulumi.Input[str]]]
    """Variables of all jobs as `KEY=value`."""

    docker: NotRequired[DockerOptions]
    """Options of `[runners.docker]` over the defaults: all GPUs, unprivileged, a cache volume."""

    runner: NotRequired[RunnerOptions]
    """Further options of `[[runners]]`."""

    process: NotRequired[GlobalOptions]
    """Further options of the runner process."""

    cache: NotRequired[CacheOptions]
    """Distributed cache; none when left out."""

    allow_host_access: NotRequired[bool]
    """Whether jobs may reach host paths and networks that show the runner's token; false when left out."""

    boot: NotRequired[BootArgs]
    """Packages, GPU gate, mirrors and proxies of the machines."""


class GitLabRunner(pulumi.ComponentResource):
    """A runner in GitLab, and what turns any number of machines into its managers."""

    runner_id: pulumi.Output[str]
    """ID of the runner in GitLab."""

    token: pulumi.Output[str]
    """Its authentication token (secret)."""

    config_toml: pulumi.Output[str]
    """config.toml of the machines, with a placeholder for the machine's name (secret)."""

    user_data: pulumi.Output[str]
    """User-data of the machines, for `InstanceGroup` (secret)."""

    tags: pulumi.Output[list[str]]
    """Tags that jobs ask for."""

    def __init__(self, name: str, args: GitLabRunnerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("shadow-gpu-runners:index:GitLabRunner", name, {}, opts)
        _check(name, args)
        tags = args.get("tags", ["shadow-gpu"])
        runner = self._register(name, args, tags)
        self.runner_id = runner.id
        self.token = pulumi.Output.secret(runner.token)
        rendered = pulumi.Output.all(token=self.token, args=_late(args)).apply(
            lambda known: _rendered(name, args, known["token"], known["args"])
        )
        self.config_toml = pulumi.Output.secret(rendered.apply(lambda both: both[0]))
        self.user_data = pulumi.Output.secret(rendered.apply(lambda both: both[1]))
        self.tags = pulumi.Output.from_input(tags)
        self.register_outputs(
            {
                "runnerId": self.runner_id,
                "token": self.token,
                "configToml": self.config_toml,
                "userData": self.user_data,
                "tags": self.tags,
            }
        )

    def _register(self, name: str, args: GitLabRunnerArgs, tags: list[str]) -> gitlab.UserRunner:
        project, group = self._project_id(args), self._group_id(args)
        kind = (
            "project_type" if project is not None else "group_type" if group is not None else "instance_type"
        )
        return gitlab.UserRunner(
            f"{name}-runner",
            runner_type=kind,
            project_id=project,
            group_id=group,
            tag_lists=tags,
            untagged=args.get("untagged", False),
            locked=args.get("locked", True) if kind == "project_type" else None,
            access_level="ref_protected" if args.get("protected", False) else "not_protected",
            maximum_timeout=whole(args.get("maximum_timeout", 3600)),
            paused=args.get("paused", False),
            description=args.get("description", name),
            maintenance_note=_note(name, args),
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _project_id(self, args: GitLabRunnerArgs) -> pulumi.Output[int] | None:
        if "project_id" in args:
            return pulumi.Output.from_input(args["project_id"]).apply(whole)
        if "project" not in args:
            return None
        return gitlab.get_project_output(
            path_with_namespace=args["project"],
            opts=pulumi.InvokeOutputOptions(parent=self),
        ).apply(lambda found: int(found.id))

    def _group_id(self, args: GitLabRunnerArgs) -> pulumi.Output[int] | None:
        if "group_id" in args:
            return pulumi.Output.from_input(args["group_id"]).apply(whole)
        if "group" not in args:
            return None
        return gitlab.get_group_output(
            full_path=args["group"],
            opts=pulumi.InvokeOutputOptions(parent=self),
        ).apply(lambda found: int(found.group_id))


def _note(name: str, args: GitLabRunnerArgs) -> str:
    mark = ", ".join(ownership.tags(ownership.deployment_id(), name))
    return "\n".join(part for part in (args.get("maintenance_note", ""), mark) if part)


def _late(args: GitLabRunnerArgs) -> dict[str, object]:
    """Return the inputs that may hold outputs and end up in the machines' files."""
    names = ("url", "docker", "runner", "process", "cache", "environment", "boot")
    return {name: value for name, value in args.items() if name in names}


def _check(name: str, args: GitLabRunnerArgs) -> None:
    _find_faults(name, args, _known.table(args))
    if _known.is_complete(_late(args)):
        _rendered(name, args, _TOKEN_OF_USUAL_LENGTH, _late(args))


def _find_faults(name: str, args: GitLabRunnerArgs, values: Mapping[str, object]) -> None:
    """Raise with every fault of `values`, which are `args` as far as they are known."""
    problems = Problems(f"GitLabRunner {name!r}")
    toml.check_table(values, GitLabRunnerArgs, "", problems)
    _gitlab_checks.check_scope(values, problems)
    tags = toml.texts(values.get("tags", ["shadow-gpu"]))
    _gitlab_checks.check_tags(tags, problems, untagged=bool(values.get("untagged")))
    _gitlab_checks.check_limits({**values, "maintenance_note": _note(name, args)}, problems)
    _gitlab_checks.check_url(values.get("url", "https://gitlab.com/"), problems)
    _check_files(values, problems)
    problems.raise_if_any()


def _check_files(values: Mapping[str, object], problems: Problems) -> None:
    parts = {
        part: _known.table(values.get(part)) for part in ("process", "runner", "docker", "cache", "boot")
    }
    for shortcut, place in (("concurrent", "process"), ("limit", "runner"), ("environment", "runner")):
        if shortcut in values and shortcut in parts[place]:
            problems.add(f"{place}.{shortcut}", "a second value", f"{shortcut} once", "keep one of the two")
    toml.check_environment(values.get("environment"), problems, "environment")
    toml.check_environment(parts["runner"].get("environment"), problems, "runner.environment")
    toml.check_cache(parts["cache"], problems)
    host_access = values.get("allow_host_access") is True
    toml.check_docker(parts["docker"], problems, allow_host_access=host_access)
    if not any(path.startswith("boot") for path, _ in problems.found):
        boot_files.check(settings_from(parts["boot"], ""), problems)


def _config(token: str, values: Mapping[str, object]) -> toml.RunnerConfig:
    process = {**_known.table(values.get("process"))}
    options = {**_known.table(values.get("runner"))}
    for shortcut, place in (("concurrent", process), ("limit", options), ("environment", options)):
        if shortcut in values:
            place[shortcut] = values[shortcut]
    return toml.RunnerConfig(
        url=cast("str", values.get("url", "https://gitlab.com/")),
        token=token,
        options=options,
        docker=_known.table(values.get("docker")),
        cache=_known.table(values.get("cache")),
        process=process,
    )


def _rendered(name: str, args: GitLabRunnerArgs, token: str, late: Mapping[str, object]) -> tuple[str, str]:
    """Return config.toml and user-data once everything is known, after checking what was not known before."""
    values = {**_known.table(args), **late}
    _find_faults(name, args, values)
    config = _config(token, values)
    text = toml.render(config)
    image = cast("str", config.docker.get("image", toml.DOCKER_DEFAULTS["image"]))
    settings = settings_from(_known.table(values.get("boot")), image)
    try:
        return text, boot_files.user_data(text, settings)
    except UserDataTooLargeError as error:
        raise InvalidInputsError(
            f"GitLabRunner {name!r} has 1 invalid input(s):\n  {error}",
            [pulumi.InputPropertyErrorDetails(property_path="runner", reason=str(error))],
        ) from None
