"""Webhooks and their deliveries."""

import hashlib
import hmac
import json
import time
from typing import Any
from urllib.parse import parse_qs

import httpx
import jwt
import pytest
from contract.github.harness import Forge, Receiver, StartRun, workflow

from localcloud.processes import wait_until

HOOKS = "/orgs/acme/hooks"
SECRET = "hook-secret"


def config(receiver: Receiver, **change: str) -> dict[str, str]:
    return {"url": receiver.url, "content_type": "json", "secret": SECRET, **change}


def deliveries(api: httpx.Client, hook: dict[str, Any], count: int, **query: str) -> list[dict[str, Any]]:
    """The hook's deliveries, newest first, once there are as many as expected."""
    path = f"{HOOKS}/{hook['id']}/deliveries"
    assert wait_until(lambda: len(api.get(path, params=query).json()) >= count, 30), api.get(path).text
    found: list[dict[str, Any]] = api.get(path, params=query).json()
    return found


def test_a_new_hook_gets_a_signed_ping(api: httpx.Client, receiver: Receiver) -> None:
    made = api.post(HOOKS, json={"events": ["workflow_job"], "config": config(receiver)}).json()
    ping = receiver.next()
    expected = hmac.new(SECRET.encode(), ping.body, hashlib.sha256).hexdigest()
    assert ping.headers["x-hub-signature-256"] == f"sha256={expected}"
    assert ping.headers["x-github-event"] == "ping"
    assert ping.headers["x-github-hook-id"] == str(made["id"])
    assert ping.headers["x-github-hook-installation-target-type"] == "organization"
    assert len(ping.headers["x-github-delivery"]) == 36
    assert ping.payload["hook_id"] == made["id"]


def test_the_secret_is_masked_everywhere(api: httpx.Client, receiver: Receiver, hook: dict[str, Any]) -> None:
    path = f"{HOOKS}/{hook['id']}"
    assert hook["config"]["secret"] == "********"
    changed = api.patch(path, json={"active": True, "config": {"url": receiver.url, "secret": "********"}})
    (ping,) = deliveries(api, hook, 1)
    texts = [changed.text, api.get(path).text, api.get(f"{path}/config").text, api.get(HOOKS).text]
    texts.append(api.get(f"{path}/deliveries/{ping['id']}").text)
    assert not any(SECRET in text for text in texts)
    api.post(f"{path}/pings")
    assert receiver.next().headers["x-hub-signature-256"]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"events": ["push"]}, "config"),
        ({"config": {"url": "ftp://127.0.0.1/x"}}, "url"),
        ({"config": {"url": "http://127.0.0.1:9/x", "content_type": "xml"}}, "content_type"),
    ],
)
def test_a_wrong_hook_is_refused(api: httpx.Client, body: dict[str, object], text: str) -> None:
    answer = api.post(HOOKS, json=body)
    assert answer.status_code == 422
    assert text in answer.text


def test_the_same_hook_is_made_only_once(api: httpx.Client, receiver: Receiver, hook: dict[str, Any]) -> None:
    answer = api.post(HOOKS, json={"events": ["workflow_job"], "config": config(receiver)})
    assert answer.status_code == 422
    assert "Hook already exists" in answer.text


def test_a_form_hook_gets_the_payload_as_a_field(api: httpx.Client, receiver: Receiver) -> None:
    api.post(HOOKS, json={"config": config(receiver, content_type="form")})
    ping = receiver.next()
    assert ping.headers["content-type"] == "application/x-www-form-urlencoded"
    assert json.loads(parse_qs(ping.body.decode())["payload"][0])["zen"]
    expected = hmac.new(SECRET.encode(), ping.body, hashlib.sha256).hexdigest()
    assert ping.headers["x-hub-signature-256"] == f"sha256={expected}"


@pytest.mark.usefixtures("hook")
def test_a_run_sends_its_events_to_hooks_of_organisation_and_repository(
    api: httpx.Client, receiver: Receiver, start_run: StartRun
) -> None:
    own = Receiver()
    api.post("/repos/acme/inference/hooks", json={"events": ["*"], "config": config(own)})
    start_run(workflow())
    own.next("ping")
    found = {receiver.next().headers["x-github-delivery"] for _ in range(2)}
    assert {own.next("workflow_job.queued").headers["x-github-hook-installation-target-type"]} == {
        "repository"
    }
    assert len(found) == 2
    own.close()


def test_a_hook_that_is_off_or_not_subscribed_gets_nothing(
    api: httpx.Client, hook: dict[str, Any], start_run: StartRun
) -> None:
    deliveries(api, hook, 1)
    api.patch(f"{HOOKS}/{hook['id']}", json={"active": False})
    start_run(workflow())
    api.patch(f"{HOOKS}/{hook['id']}", json={"active": True, "events": ["push"]})
    start_run(workflow())
    assert [item["event"] for item in deliveries(api, hook, 1)] == ["ping"]


def test_a_failed_delivery_is_not_repeated_but_can_be_redelivered_under_its_guid(
    api: httpx.Client, receiver: Receiver, hook: dict[str, Any], start_run: StartRun
) -> None:
    receiver.status = 500
    start_run(workflow())
    first = receiver.next("workflow_job.queued")
    failed = deliveries(api, hook, 2, status="failure")
    assert {item["status"] for item in failed} == {"Invalid HTTP Response: 500"}
    receiver.status = 200
    lost = next(item for item in failed if item["event"] == "workflow_job")
    answer = api.post(f"{HOOKS}/{hook['id']}/deliveries/{lost['id']}/attempts")
    assert answer.status_code == 202
    again = receiver.next("workflow_job.queued")
    assert again.headers["x-github-delivery"] == first.headers["x-github-delivery"] == lost["guid"]
    assert again.body == first.body
    (repeated,) = deliveries(api, hook, 1, redelivery="true")
    assert (repeated["guid"], repeated["status_code"]) == (lost["guid"], 200)


def test_a_slow_target_times_out(
    forge: Forge, api: httpx.Client, receiver: Receiver, hook: dict[str, Any]
) -> None:
    forge.sim("PATCH", "/settings", {"delivery_timeout_s": 0.2})
    receiver.hold.clear()
    api.post(f"{HOOKS}/{hook['id']}/pings")
    newest = deliveries(api, hook, 2)[0]
    assert (newest["status"], newest["status_code"]) == ("timed out", 504)


def test_a_target_outside_this_machine_is_never_called(api: httpx.Client) -> None:
    made = api.post(HOOKS, json={"config": {"url": "https://hooks.example.com/x"}}).json()
    (ping,) = deliveries(api, made, 1)
    assert "only loopback" in ping["status"]
    assert ping["status_code"] == 0


def test_deliveries_are_listed_by_cursor_for_three_days(
    forge: Forge, api: httpx.Client, hook: dict[str, Any]
) -> None:
    for _ in range(4):
        api.post(f"{HOOKS}/{hook['id']}/pings")
    deliveries(api, hook, 5)
    path = f"{HOOKS}/{hook['id']}/deliveries"
    page, seen = api.get(path, params={"per_page": 2}), list[int]()
    while True:
        seen += [item["id"] for item in page.json()]
        if "next" not in page.links:
            break
        page = httpx.get(page.links["next"]["url"], headers=api.headers, trust_env=False)
    assert len(seen) == len(set(seen)) == 5
    assert seen == sorted(seen, reverse=True)
    forge.sim("POST", "/clock", {"advance_s": 3 * 24 * 3600 + 60})
    assert api.get(path).json() == []
    assert api.get(f"{path}/{seen[0]}").status_code == 404


def test_a_delivery_shows_request_and_response(api: httpx.Client, hook: dict[str, Any]) -> None:
    (ping,) = deliveries(api, hook, 1)
    shown = api.get(f"{HOOKS}/{hook['id']}/deliveries/{ping['id']}").json()
    assert shown["request"]["headers"]["X-GitHub-Delivery"] == ping["guid"]
    assert shown["request"]["payload"]["hook_id"] == hook["id"]
    assert shown["response"]["payload"] == ""


def test_faults_lose_drop_double_and_delay_deliveries(
    forge: Forge, api: httpx.Client, receiver: Receiver, hook: dict[str, Any], start_run: StartRun
) -> None:
    rule = {"kind": "delivery_doubled", "path": r"^workflow_job\.queued$", "times": 1}
    forge.sim("POST", "/faults", rule)
    start_run(workflow())
    pair = [receiver.next("workflow_job.queued").headers["x-github-delivery"] for _ in range(2)]
    assert pair[0] == pair[1]
    deliveries(api, hook, 4)
    forge.sim("POST", "/faults", {**rule, "kind": "delivery_dropped"})
    start_run(workflow())
    deliveries(api, hook, 5)
    forge.sim("POST", "/faults", {**rule, "kind": "delivery_lost"})
    forge.sim("POST", "/faults", {"kind": "delivery_delayed", "path": "workflow_run", "delay_s": 3600})
    start_run(workflow())
    newest = deliveries(api, hook, 6)[0]
    assert (newest["event"], newest["status"]) == ("workflow_job", "failed to connect to host")
    forge.sim("POST", "/clock", {"advance_s": 3601})
    assert [item["event"] for item in deliveries(api, hook, 7)][:2] == ["workflow_job", "workflow_run"]


def test_a_payload_over_the_cap_is_never_sent(
    forge: Forge, api: httpx.Client, hook: dict[str, Any], start_run: StartRun
) -> None:
    forge.sim("PATCH", "/settings", {"delivery_max_bytes": 5000})
    start_run(workflow())
    api.post(f"{HOOKS}/{hook['id']}/pings")
    assert {item["event"] for item in deliveries(api, hook, 2)} == {"ping"}


def test_an_app_can_set_its_own_hook_and_read_its_deliveries(
    forge: Forge, receiver: Receiver, start_run: StartRun
) -> None:
    app = forge.sim("POST", "/apps", {"name": "x", "events": ["workflow_job"]})
    forge.sim("POST", "/installations", {"app_id": app["id"], "account": "acme"})
    now = int(time.time())
    token = jwt.encode({"iat": now - 60, "exp": now + 500, "iss": app["client_id"]}, app["pem"], "RS256")
    with forge.api(token) as api:
        changed = api.patch("/app/hook/config", json={"url": receiver.url, "secret": SECRET}).json()
        assert (changed["url"], changed["secret"]) == (receiver.url, "********")
        start_run(workflow())
        first = receiver.next("workflow_job.queued")
        assert wait_until(lambda: bool(api.get("/app/hook/deliveries").json()), 30)
        (listed,) = api.get("/app/hook/deliveries").json()
        assert listed["guid"] == first.headers["x-github-delivery"]
        assert api.post(f"/app/hook/deliveries/{listed['id']}/attempts").status_code == 202
    assert receiver.next().headers["x-github-delivery"] == listed["guid"]


def test_an_app_gets_events_of_its_installations_with_their_id(
    forge: Forge, receiver: Receiver, start_run: StartRun
) -> None:
    webhook = {"url": receiver.url, "secret": SECRET}
    app = forge.sim("POST", "/apps", {"name": "x", "events": ["workflow_job"], "webhook": webhook})
    installation = forge.sim("POST", "/installations", {"app_id": app["id"], "account": "acme"})
    start_run(workflow())
    event = receiver.next("workflow_job.queued")
    assert event.payload["installation"]["id"] == installation["id"]
    assert event.headers["x-github-hook-installation-target-type"] == "integration"
    assert event.headers["x-github-hook-installation-target-id"] == str(app["id"])
