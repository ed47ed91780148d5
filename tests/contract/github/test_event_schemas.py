"""Every event that the simulator sends against GitHub's published schemas and example payloads (npm)."""

import fcntl
import json
import subprocess
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
from contract.github.harness import ROOT, Delivery, Finish, Forge, Receiver, StartRun, StartScript, workflow

NODE = ROOT / "tests" / "node"
PINNED = json.loads((NODE / "package.json").read_text())["dependencies"]
KINDS = [
    "workflow_run.requested",
    "workflow_job.waiting",
    "workflow_job.queued",
    "workflow_job.in_progress",
    "workflow_run.in_progress",
    "workflow_job.completed",
    "workflow_run.completed",
]


def package(name: str) -> Path:
    """Folder of an npm package at its pinned version; `npm ci` brings it."""
    folder = NODE / "node_modules" / "@octokit" / name
    with (NODE / "package.json").open() as lock:
        # Test processes run side by side; only one may install.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_pinned(folder, name):
            command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            subprocess.run(command, cwd=NODE, check=True)
    assert _is_pinned(folder, name)
    return folder


def _is_pinned(folder: Path, name: str) -> bool:
    description = folder / "package.json"
    wanted = PINNED[f"@octokit/{name}"]
    return description.exists() and json.loads(description.read_text())["version"] == wanted


@pytest.fixture(scope="module")
def schema() -> Any:
    return json.loads((package("webhooks-schemas") / "schema.json").read_text())


@pytest.fixture(scope="module")
def examples() -> dict[str, list[Any]]:
    index = json.loads((package("webhooks-examples") / "api.github.com" / "index.json").read_text())
    return {entry["name"]: entry["examples"] for entry in index}


@pytest.fixture
def sent(
    forge: Forge,
    api: httpx.Client,
    receiver: Receiver,
    start_run: StartRun,
    jit_runner: StartScript,
    finished: Finish,
) -> dict[str, Delivery]:
    """One of each event that a run with an approval sends to an app's hook, and three kinds of ping."""
    found: dict[str, Delivery] = {}
    app_hook = {"url": receiver.url, "secret": "s"}
    events = ["workflow_job", "workflow_run"]
    app = forge.sim("POST", "/apps", {"name": "x", "events": events, "webhook": app_hook})
    forge.sim("POST", "/installations", {"app_id": app["id"], "account": "acme"})
    for kind, path in (("organization", "/orgs/acme/hooks"), ("repository", "/repos/acme/inference/hooks")):
        made = api.post(path, json={"events": ["push"], "config": {"url": receiver.url, "secret": "s"}})
        assert made.status_code == 201
        found[f"ping of {kind}"] = _decoded(receiver.next())
    forge.sim("POST", "/environments", {"repository": "acme/inference", "environments": ["prod"]})
    run = start_run(workflow(more="    environment: prod\n"))
    api.post(f"/repos/acme/inference/actions/runs/{run['id']}/pending_deployments", json={})
    jit_runner("r1", ["self-hosted", "gpu"])
    finished(run)
    for _ in KINDS:
        delivery = receiver.next()
        found[delivery.name] = delivery
    return found


def _decoded(delivery: Delivery) -> Delivery:
    """A form delivery as if it were JSON."""
    fields = httpx.QueryParams(delivery.body.decode())
    return Delivery(delivery.headers, fields["payload"].encode())


def test_all_events_fit_the_schema(schema: Any, sent: dict[str, Delivery]) -> None:
    assert set(sent) == {*KINDS, "ping of organization", "ping of repository"}
    for delivery in sent.values():
        event = delivery.headers["x-github-event"]
        name = "ping$event" if event == "ping" else f"{event}${delivery.payload['action']}"
        validator = jsonschema.Draft7Validator(
            {"$ref": f"#/definitions/{name}", "definitions": schema["definitions"]}
        )
        found = validator.iter_errors(delivery.payload)
        problems = [f"{name} {problem.json_path}: {problem.message}" for problem in found]
        assert problems == []


@pytest.mark.parametrize("event", ["workflow_job", "workflow_run"])
def test_events_have_the_keys_of_the_published_examples(
    sent: dict[str, Delivery], examples: dict[str, list[Any]], event: str
) -> None:
    payloads = [delivery.payload for name, delivery in sent.items() if name.startswith(event)]
    known = set[str]().union(*(example.keys() for example in examples[event])) | {"installation"}
    # An example carries `deployment` where a deployment protects the job; ours have none.
    inner_known = set[str]().union(*(example[event].keys() for example in examples[event]))
    assert payloads
    for payload in payloads:
        assert payload.keys() <= known
        assert known - payload.keys() <= {"deployment"}
        assert inner_known - payload[event].keys() == set()


@pytest.mark.parametrize("part", ["repository", "organization", "sender"])
def test_shared_parts_have_the_keys_of_the_published_examples(
    sent: dict[str, Delivery], examples: dict[str, list[Any]], part: str
) -> None:
    payload = sent["workflow_job.queued"].payload
    lists = [example[part].keys() for example in examples["workflow_job"] if part in example]
    # Key sets differ between examples of different years; what all of them have must be there.
    always = set(lists[0]).intersection(*lists)
    assert always - payload[part].keys() == set()


def test_a_ping_has_the_keys_of_the_published_examples(
    sent: dict[str, Delivery], examples: dict[str, list[Any]]
) -> None:
    by_type = {example["hook"]["type"]: example for example in examples["ping"]}
    for kind, example in by_type.items():
        payload = sent[f"ping of {kind.lower()}"].payload
        assert example.keys() - payload.keys() == set()
        assert example["hook"].keys() - payload["hook"].keys() - {"app_id"} == set()
