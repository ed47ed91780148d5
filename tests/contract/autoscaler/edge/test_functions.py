"""The same way of a job through functions: SQS and DynamoDB by moto, no process that stays."""

import hashlib
import hmac
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from autoscaler_site.outside import HOOK, KEY, Outside, body_of, gateway_event
from autoscaler_site.site import world, write

from shadow_autoscaler.adapters.dynamodb_store import create_table
from shadow_autoscaler.adapters.sqs_queue import create_queue
from shadow_autoscaler.core.events import JobSeen
from shadow_autoscaler.core.jobs import JobKey
from shadow_autoscaler.edge import adapters
from shadow_autoscaler.edge.functions import setting, tick, turning, vm, webhook, worker
from shadow_autoscaler.runtime import tickets


class Context:
    """Ten seconds for each call."""

    def get_remaining_time_in_millis(self) -> int:
        return 10_000


@pytest.fixture(name="cloud_of_amazon")
def cloud_of_amazon_fixture(
    aws: Callable[[str], Any], tmp_path: Path, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Any]:
    """Table, queue and configuration; what functions keep between calls is forgotten before and after."""
    name = f"functions-{tmp_path.name}"
    create_table(aws("dynamodb"), name)
    url = create_queue(aws("sqs"), name)
    file = write(tmp_path, store={"kind": "dynamodb", "table": name}, queue={"url": url})
    monkeypatch.setenv("SHADOW_AUTOSCALER_CONFIG", str(file))
    monkeypatch.setattr(setting, "configure", lambda *_: None)
    monkeypatch.setattr(adapters, "_aws", lambda service, _region: aws(service))
    monkeypatch.setattr(turning, "OUTSIDE", [world(outside)])
    kept: tuple[Any, ...] = (setting.config, setting.file, setting.secrets, setting.queue, setting.redactor)
    for function in (*kept, turning.base_of):
        function.cache_clear()
    yield aws("sqs"), url
    for function in (*kept, turning.base_of):
        function.cache_clear()


def deliver(outside: Outside, key: JobKey, **headers: str) -> dict[str, Any]:
    """Call the webhook function about a job as it is now."""
    body = body_of(JobSeen(outside.github.truth()[key]))
    assert body is not None
    digest = hmac.new(HOOK.encode(), body, hashlib.sha256).hexdigest()
    known = {"X-GitHub-Event": "workflow_job", "X-GitHub-Delivery": "D-1"}
    return webhook.handler(
        gateway_event(body, known | {"X-Hub-Signature-256": f"sha256={digest}"} | headers), Context()
    )


def drain_queue(amazon: Any) -> dict[str, Any]:
    """Call the worker with what lies in the queue, as SQS does."""
    client, url = amazon
    messages = client.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
    records = [{"messageId": m["MessageId"], "body": m["Body"]} for m in messages]
    for message in messages:
        client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return worker.handler({"Records": records}, Context())


def call(name: str, function: str, body: dict[str, Any], ticket: str = "") -> dict[str, Any]:
    """Call the VM function."""
    event = {
        "rawPath": f"/vm/v1/{name}/{function}",
        "headers": {"Authorization": f"Bearer {ticket or tickets.ticket(KEY, name)}"},
        "body": json.dumps(body),
    }
    return vm.handler(event, Context())


def test_case_2k_a_base64_body_is_verified_over_its_bytes(cloud_of_amazon: Any, outside: Outside) -> None:
    outside.hooks = False
    key = outside.queue(5001)
    assert deliver(outside, key)["statusCode"] == 202
    assert deliver(outside, key, **{"X-Hub-Signature-256": "sha256=00"})["statusCode"] == 401
    broken = gateway_event(b"{}", {}) | {"body": "not base64!"}
    assert webhook.handler(broken, Context())["statusCode"] == 400
    elsewhere = gateway_event(b"{}", {}) | {"rawPath": "/webhook/bitbucket"}
    assert webhook.handler(elsewhere, Context())["statusCode"] == 404


def test_a_job_goes_its_whole_way_through_functions(cloud_of_amazon: Any, outside: Outside) -> None:
    outside.hooks = outside.guests = False
    key = outside.queue(5001, seconds=0.2)
    deliver(outside, key)
    assert drain_queue(cloud_of_amazon) == {"batchItemFailures": []}
    outside.until(lambda: any(s.raw_status == "ACTIVE" for s in outside.cloud.truth().values()))
    ((server_id, server),) = outside.cloud.truth().items()
    name = server.marks["vm"]
    assert call(name, "config", {"server_id": server_id}, ticket="x")["statusCode"] == 401
    report = {"server_id": server_id, "phase": "healthy", "status": "ok"}
    assert call(name, "status", report)["statusCode"] == 204
    answer = call(name, "config", {"server_id": server_id})
    assert answer["statusCode"] == 200
    config = json.loads(answer["body"])
    with outside.lock:
        outside.github.connect(config, config["runner_name"], lambda _: None)
    outside.until(lambda: outside.done(key))
    deliver(outside, key, **{"X-GitHub-Delivery": "D-2"})
    drain_queue(cloud_of_amazon)
    for _ in range(40):
        tick.handler({}, Context())
        if outside.empty():
            break
    assert outside.empty()
    assert outside.faults.calls["cloud.create"] == 1
    assert call(name, "config", {"server_id": server_id})["statusCode"] in {404, 410}


def test_a_message_that_cannot_be_read_is_named_and_holds_up_no_other(
    cloud_of_amazon: Any, outside: Outside
) -> None:
    answer = worker.handler({"Records": [{"messageId": "m-1", "body": "{"}]}, Context())
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m-1"}]}


def test_while_another_call_decides_nothing_is_lost(
    cloud_of_amazon: Any, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "PATIENCE_S", 0.0)
    monkeypatch.setattr(tick, "PATIENCE_S", 0.0)
    outside.hooks = outside.guests = False
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with turning.turn(Context()) as mine:
            assert mine.held
            entered.set()
            assert leave.wait(30)

    thread = threading.Thread(target=other)
    thread.start()
    assert entered.wait(30)
    # Another instance has a store object of its own.
    turning.base_of.cache_clear()
    deliver(outside, outside.queue(5001))
    drain_queue(cloud_of_amazon)
    assert not outside.cloud.truth()
    assert tick.handler({}, Context()) == {"held": False, "finished": False}
    leave.set()
    thread.join(30)
    assert tick.handler({}, Context())["held"]
    assert outside.faults.calls["cloud.create"] == 1


def test_a_vm_s_times_do_not_begin_anew_with_each_call(cloud_of_amazon: Any, outside: Outside) -> None:
    outside.hooks = outside.guests = False
    deliver(outside, outside.queue(5001))
    drain_queue(cloud_of_amazon)
    tick.handler({}, Context())
    assert turning.base_of().store.load().counters.resumed_at == 0.0
