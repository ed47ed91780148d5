"""GitHub runner group: who may use the GPU runners, the webhook that announces jobs, Actions variables."""

import json
from typing import TypedDict

import pulumi
import pulumi_github as github

from shadow_gpu_runners import _github_checks, _known
from shadow_gpu_runners import config_toml as toml
from shadow_gpu_runners._validation import Problems, checked, whole
from shadow_gpu_runners.github_webhook import GitHubWebhookArgs, webhooks

LABELS_VARIABLE = "SHADOW_GPU_LABELS"
"""Actions variable with the labels as JSON: `runs-on: ${{ fromJSON(vars.SHADOW_GPU_LABELS) }}`."""


class GitHubRunnerGroupArgs(TypedDict, total=False):
    """Inputs of `GitHubRunnerGroup`. Organisation and server are those of the provider."""

    group_name: pulumi.Input[str]
    """Name of the group, at most 64 characters; the component's name when left out."""

    visibility: str
    """Who may use it: `selected` repositories (when left out) or `all` of the organisation."""

    repositories: list[str]
    """Names of the repositories that may use it, as `name` or `owner/name`."""

    repository_ids: list[pulumi.Input[int]]
    """IDs of further repositories, for example of those that the program makes."""

    workflows: list[str]
    """Workflows that alone may use it, as `owner/repository/.github/workflows/file.yml@ref`."""

    allows_public_repositories: bool
    """Whether public repositories, whose pull requests run strangers' code, may use it."""

    webhook: GitHubWebhookArgs
    """Webhook for `workflow_job`; none when left out."""

    labels: list[str]
    """Labels of the runners, given to workflows as an Actions variable with a JSON list."""

    labels_variable: str
    """Name of that variable; `SHADOW_GPU_LABELS` when left out. Two groups of an organisation need two."""

    variables: dict[str, pulumi.Input[str]]
    """Further Actions variables; they are not secret."""

    scope: str
    """Where webhook and variables live: `organization` (when left out) or `repositories`."""


class GitHubRunnerGroup(pulumi.ComponentResource):
    """A runner group of an organisation with its webhook and variables."""

    group_id: pulumi.Output[str]
    """ID of the group."""

    group_name: pulumi.Output[str]
    """Name of the group, for `runs-on: {group: …}`."""

    webhook_ids: pulumi.Output[dict[str, str]]
    """ID of each webhook by repository, or under `organization`."""

    webhook_url: pulumi.Output[str]
    """Where deliveries go; empty without a webhook."""

    labels: pulumi.Output[list[str]]
    """Labels of the runners."""

    def __init__(
        self, name: str, args: GitHubRunnerGroupArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("shadow-gpu-runners:index:GitHubRunnerGroup", name, {}, opts)
        _check(name, args)
        self._label = name
        self._args = args
        found = self._repository_ids()
        ids = [*found.values(), *self._given_ids()]
        group = self._group(ids)
        self.group_id = group.id
        self.group_name = group.name
        self.labels = pulumi.Output.from_input(args.get("labels", []))
        self._set_webhook()
        self._set_variables(ids)
        self.register_outputs(
            {
                "groupId": self.group_id,
                "groupName": self.group_name,
                "webhookIds": self.webhook_ids,
                "webhookUrl": self.webhook_url,
                "labels": self.labels,
            }
        )

    def _repository_ids(self) -> dict[str, pulumi.Output[int]]:
        return {each: self._repository_id(each) for each in self._args.get("repositories", [])}

    def _repository_id(self, repository: str) -> pulumi.Output[int]:
        full = "/" in repository
        return github.get_repository_output(
            full_name=repository if full else None,
            name=None if full else repository,
            opts=pulumi.InvokeOutputOptions(parent=self),
        ).apply(lambda found: whole(found.repo_id))

    def _given_ids(self) -> list[pulumi.Output[int]]:
        return [pulumi.Output.from_input(each).apply(whole) for each in self._args.get("repository_ids", [])]

    def _group(self, ids: list[pulumi.Output[int]]) -> github.ActionsRunnerGroup:
        workflows = self._args.get("workflows", [])
        selected = self._args.get("visibility", "selected") == "selected"
        return github.ActionsRunnerGroup(
            f"{self._label}-group",
            name=self._checked_name(),
            visibility=self._args.get("visibility", "selected"),
            selected_repository_ids=list(ids) if selected else None,
            allows_public_repositories=self._args.get("allows_public_repositories", False),
            restricted_to_workflows=bool(workflows),
            selected_workflows=workflows or None,
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _checked_name(self) -> pulumi.Output[str]:
        return checked(
            self._args.get("group_name", self._label),
            f"GitHubRunnerGroup {self._label!r}",
            lambda problems, value: _github_checks.check_group(value, {"visibility": "all"}, problems),
        )

    def _set_webhook(self) -> None:
        self.webhook_ids = pulumi.Output.from_input(dict[str, str]())
        self.webhook_url = pulumi.Output.from_input("")
        if "webhook" not in self._args:
            return
        repositories = None if self._in_organization() else self._args.get("repositories", [])
        ids, url = webhooks(self, self._label, self._args["webhook"], repositories)
        self.webhook_ids, self.webhook_url = pulumi.Output.all(**ids), url

    def _set_variables(self, ids: list[pulumi.Output[int]]) -> None:
        values = dict(self._args.get("variables", {}))
        if "labels" in self._args:
            variable = self._args.get("labels_variable", LABELS_VARIABLE)
            values[variable] = json.dumps(self._args["labels"])
        for variable, value in values.items():
            if self._in_organization():
                self._organization_variable(variable, value, ids)
            else:
                self._repository_variables(variable, value)

    def _organization_variable(
        self, variable: str, value: pulumi.Input[str], ids: list[pulumi.Output[int]]
    ) -> None:
        visibility = self._args.get("visibility", "selected")
        github.ActionsOrganizationVariable(
            f"{self._label}-{variable}",
            variable_name=variable,
            value=value,
            visibility=visibility,
            selected_repository_ids=list(ids) if visibility == "selected" else None,
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _repository_variables(self, variable: str, value: pulumi.Input[str]) -> None:
        for repository in self._args.get("repositories", []):
            github.ActionsVariable(
                f"{self._label}-{variable}-{repository.replace('/', '-')}",
                repository=repository.rpartition("/")[2],
                variable_name=variable,
                value=value,
                opts=pulumi.ResourceOptions(parent=self),
            )

    def _in_organization(self) -> bool:
        return self._args.get("scope", "organization") == "organization"


def _check(name: str, args: GitHubRunnerGroupArgs) -> None:
    problems = Problems(f"GitHubRunnerGroup {name!r}")
    values = _known.table(args)
    toml.check_table(values, GitHubRunnerGroupArgs, "", problems)
    _github_checks.check_group(values.get("group_name", name), values, problems)
    repositories = toml.texts(values.get("repositories"))
    _github_checks.check_repositories(repositories, problems)
    _github_checks.check_labels(toml.texts(values.get("labels")), problems)
    variables = _known.table(values.get("variables"))
    _github_checks.check_variables(variables, problems)
    if "webhook" in values:
        _github_checks.check_webhook(_known.table(values["webhook"]), problems)
    _check_scope(values.get("scope", "organization"), repositories, problems)
    name = str(values.get("labels_variable", LABELS_VARIABLE))
    _github_checks.check_variables({name: ""}, problems, "labelsVariable")
    if "labels" in values and name in variables:
        problems.add(f"variables.{name}", "a second value", "labels or this variable", "keep one of the two")
    problems.raise_if_any()


def _check_scope(scope: object, repositories: list[str], problems: Problems) -> None:
    problems.one_of("scope", scope, _github_checks.SCOPES)
    if scope == "repositories" and not repositories:
        remedy = "name those that get the webhook and the variables"
        problems.add_missing("repositories", "at least one repository for scope repositories", remedy)
