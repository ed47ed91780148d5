"""Rules of GitLab for a runner's registration: scope, tags, timeout, note."""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from shadow_gpu_runners._validation import Problems
from shadow_gpu_runners.config_toml import UNKNOWN

SCOPES = ("project", "project_id", "group", "group_id", "instance")
"""Inputs of which exactly one says whom the runner serves."""

MAX_TAGS = 50
MAX_TAG_LENGTH = 255
MAX_NOTE_LENGTH = 1024
LEAST_TIMEOUT_S = 600
MOST_TIMEOUT_S = 30 * 24 * 3600
_PATH = re.compile(r"^[A-Za-z0-9_][\w.-]*(/[A-Za-z0-9_][\w.-]*)*$")


def check_scope(values: Mapping[str, object], problems: Problems) -> None:
    """Note a fault unless exactly one of project, group and instance is named."""
    given = [name for name in SCOPES if values.get(name) not in (None, False)]
    if len(given) != 1:
        expected = "exactly one of project, projectId, group, groupId and instance"
        problems.add("project", given, expected, "say whom the runner serves, once")
    for name in ("project", "group"):
        path = values.get(name)
        if isinstance(path, str) and not _PATH.match(path):
            problems.add(name, path, "a full path such as acme/inference", "copy it from the address bar")
    if values.get("locked") and not any(name in given for name in ("project", "project_id")):
        problems.add("locked", True, "a project runner", "leave it out for groups and instances")


def check_tags(tags: Sequence[str], problems: Problems, *, untagged: bool) -> None:
    """Note the faults of the tags that jobs ask for."""
    if not tags and not untagged:
        problems.add(
            "tags", list(tags), "at least one tag, or untagged", "a runner without both never gets a job"
        )
    if len(tags) > MAX_TAGS:
        problems.add("tags", f"{len(tags)} tags", f"at most {MAX_TAGS}", "remove some")
    for tag in tags:
        if not tag.strip() or tag != tag.strip() or "," in tag or len(tag) > MAX_TAG_LENGTH:
            expected = f"1 to {MAX_TAG_LENGTH} characters without comma and outer blanks"
            problems.add("tags", tag, expected, "jobs name it under `tags:` in .gitlab-ci.yml")
    for tag in sorted({each for each in tags if tags.count(each) > 1}):
        problems.add("tags", tag, "each tag once", "remove the second one")


def check_limits(values: Mapping[str, object], problems: Problems) -> None:
    """Note the faults of timeout and maintenance note."""
    timeout = values.get("maximum_timeout")
    if isinstance(timeout, int | float) and not LEAST_TIMEOUT_S <= timeout <= MOST_TIMEOUT_S:
        expected = f"{LEAST_TIMEOUT_S} to {MOST_TIMEOUT_S} seconds (GitLab's limits)"
        problems.add("maximumTimeout", timeout, expected, "choose the longest time that a job may take")
    note = values.get("maintenance_note")
    if isinstance(note, str) and len(note) > MAX_NOTE_LENGTH:
        problems.add("maintenanceNote", f"{len(note)} characters", f"at most {MAX_NOTE_LENGTH}", "shorten it")


def check_url(url: object, problems: Problems) -> None:
    """Note a fault unless `url` is an http or https address without credentials."""
    if url is UNKNOWN:
        return
    parts = urlsplit(str(url))
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        problems.add("url", url, "an address such as https://gitlab.example.com/", "add the scheme")
    elif parts.username or parts.password:
        problems.add_hidden("url", "an address without credentials", "remove them; the token is made for you")
