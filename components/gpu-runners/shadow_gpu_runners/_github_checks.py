"""Rules of GitHub for runner groups, labels, webhooks and Actions variables."""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from shadow_gpu_runners._validation import Problems
from shadow_gpu_runners.config_toml import texts

VISIBILITIES = ("all", "selected")
SCOPES = ("organization", "repositories")
EVENTS = ("workflow_job", "workflow_run")
MAX_GROUP_NAME = 64
MAX_LABELS = 100
MAX_LABEL_LENGTH = 256
MAX_VARIABLE_BYTES = 48 * 1024
LEAST_SECRET_LENGTH = 20
_REPOSITORY = re.compile(r"^([A-Za-z0-9][A-Za-z0-9-]*/)?[A-Za-z0-9._-]+$")
_WORKFLOW = re.compile(r"^[^/\s]+/[^/\s]+/\.github/workflows/[^@\s]+\.ya?ml@\S+$")
_VARIABLE = re.compile(r"^(?!GITHUB_)[A-Z_][A-Z0-9_]*$", re.IGNORECASE)


def check_group(name: object, values: Mapping[str, object], problems: Problems) -> None:
    """Note the faults of the group's name and of who may use it."""
    if isinstance(name, str) and not (name.strip() and len(name) <= MAX_GROUP_NAME and name == name.strip()):
        expected = f"1 to {MAX_GROUP_NAME} characters without outer blanks"
        problems.add("groupName", name, expected, "choose another name")
    if isinstance(name, str) and name.strip().lower() == "default":
        problems.add("groupName", name, "a name of its own", "every organisation has a group Default already")
    _check_visibility(values, problems)
    for workflow in texts(values.get("workflows")):
        if not _WORKFLOW.match(workflow):
            expected = "owner/repository/.github/workflows/file.yml@ref"
            problems.add("workflows", workflow, expected, "write the path and a branch, tag or commit")


def check_repositories(repositories: Sequence[str], problems: Problems) -> None:
    """Note repositories that are malformed or listed twice."""
    for repository in repositories:
        if not _REPOSITORY.match(repository):
            problems.add("repositories", repository, "a name or owner/name", "copy it from the address bar")
    for repository in _twice(repositories):
        problems.add("repositories", repository, "each repository once", "remove the second one")


def check_labels(labels: Sequence[str], problems: Problems) -> None:
    """Note the faults of labels; GitHub compares them without regard to case."""
    if len(labels) > MAX_LABELS:
        problems.add("labels", f"{len(labels)} labels", f"at most {MAX_LABELS}", "remove some")
    for label in labels:
        if not label.strip() or label != label.strip() or "," in label or len(label) > MAX_LABEL_LENGTH:
            expected = f"1 to {MAX_LABEL_LENGTH} characters without comma and outer blanks"
            problems.add("labels", label, expected, "jobs name it under `runs-on:`")
    for label in _twice(labels):
        problems.add("labels", label, "each label once (in any case)", "remove the second one")


def check_variables(variables: Mapping[str, object], problems: Problems, path: str = "") -> None:
    """Note names that GitHub refuses and values that are too large."""
    for name, value in variables.items():
        where = path or f"variables.{name}"
        if not _VARIABLE.match(name):
            expected = "letters, digits and underscores, not beginning with a digit or GITHUB_"
            problems.add(where, name, expected, "rename it")
        if isinstance(value, str) and len(value.encode()) > MAX_VARIABLE_BYTES:
            expected = f"at most {MAX_VARIABLE_BYTES:,} bytes"
            problems.add(where, f"{len(value.encode()):,} bytes", expected, "shorten it")
    for name in _twice(list(variables)):
        problems.add(f"variables.{name}", name, "each name once (in any case)", "remove the second one")


def check_webhook(webhook: Mapping[str, object], problems: Problems) -> None:
    """Note the faults of the webhook's address, secret and events."""
    check_address(webhook.get("url"), problems)
    check_secret(webhook.get("secret"), problems)
    for event in texts(webhook.get("events")):
        problems.one_of("webhook.events", event, EVENTS)
    if "events" in webhook and "workflow_job" not in texts(webhook["events"]):
        expected = "workflow_job among them"
        problems.add("webhook.events", webhook["events"], expected, "runners are started by that event")


def check_address(url: object, problems: Problems) -> None:
    """Note a receiver that GitHub cannot reach safely; plain HTTP is for this machine only."""
    if not isinstance(url, str):
        return
    parts = urlsplit(url)
    if parts.username or parts.password:
        problems.add_hidden("webhook.url", "an address without credentials", "use the secret instead")
    elif not parts.hostname or parts.scheme not in {"http", "https"}:
        problems.add("webhook.url", url, "an https address", "add the scheme")
    elif parts.scheme == "http" and not _is_loopback(parts.hostname):
        problems.add("webhook.url", url, "an https address", "deliveries hold your code's names; use TLS")


def check_secret(secret: object, problems: Problems) -> None:
    """Note a secret that could be guessed."""
    if isinstance(secret, str) and (len(secret) < LEAST_SECRET_LENGTH or len(set(secret)) < 6):
        expected = f"at least {LEAST_SECRET_LENGTH} random characters"
        problems.add_hidden("webhook.secret", expected, "make one with `openssl rand -hex 32`")


def _check_visibility(values: Mapping[str, object], problems: Problems) -> None:
    visibility = values.get("visibility", "selected")
    if visibility == "private":
        remedy = "GitHub's API does not take it for groups; use all, which leaves out public repositories"
        problems.add("visibility", visibility, "all or selected", remedy)
    elif isinstance(visibility, str):
        problems.one_of("visibility", visibility, VISIBILITIES)
    chosen = bool(values.get("repositories") or values.get("repository_ids"))
    if visibility == "selected" and not chosen:
        problems.add_missing("repositories", "at least one repository", "name those that may use the group")
    if visibility == "all" and values.get("repository_ids"):
        remedy = "remove them, or use visibility selected"
        problems.add("repositoryIds", values["repository_ids"], "nothing beside visibility all", remedy)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _twice(names: Sequence[str]) -> list[str]:
    lowered = [name.lower() for name in names]
    return sorted({name for name in lowered if lowered.count(name) > 1})
