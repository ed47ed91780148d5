"""Webhooks of projects and groups: settings, custom headers, test, delivery log and resend."""

import json
import uuid
from typing import Any

from localcloud.gitlab import delivery, hook_payloads, hooks, signing
from localcloud.gitlab.access import MAINTAINER, OWNER
from localcloud.gitlab.api.core import Api, Call, paged
from localcloud.gitlab.errors import ApiError, not_found
from localcloud.gitlab.git import BLANK_SHA
from localcloud.gitlab.store import Row

api = Api()
TESTS = ("push_events", "job_events", "pipeline_events")


def _owner(call: Call, kind: str) -> Row:
    return call.group(OWNER) if kind == "group" else call.project(MAINTAINER)


def _find(call: Call, kind: str) -> Row:
    row = call.store.one(
        "hooks", id=call.number("hook_id"), owner_type=kind, owner_id=_owner(call, kind)["id"]
    )
    if row is None:
        raise not_found()
    return row


def _shown(call: Call, row: Row) -> Row:
    keys = (
        "id", "url", "name", "description", "created_at", "push_events_branch_filter",
        "branch_filter_strategy",
        "enable_ssl_verification", "custom_webhook_template", "disabled_until",
    )  # fmt: skip
    events: Row = row["events"]
    return {key: row[key] for key in keys} | events | {
        f"{row['owner_type']}_id": row["owner_id"], "alert_status": hooks.alert_status(call.instance, row),
        "url_variables": [], "custom_headers": [{"key": item["key"]} for item in row["custom_headers"]],
        "repository_update_events": False, "token_present": bool(row["token"]),
        "signing_token_present": bool(row["signing_token"]),
    }  # fmt: skip


def _values(call: Call, *, new: bool) -> Row:
    params = call.params
    found: Row = {"url": params.need("url")} if new or "url" in params else {}
    for name in (
        "name",
        "description",
        "token",
        "signing_token",
        "push_events_branch_filter",
        "branch_filter_strategy",
    ):
        if name in params:
            found[name] = params.text(name)
    verify = params.boolean("enable_ssl_verification")
    if verify is not None:
        found["enable_ssl_verification"] = verify
    if "custom_headers" in params:
        found["custom_headers"] = _custom_headers(call)
    params.check()
    _check(found)
    return found


def _custom_headers(call: Call) -> list[dict[str, str]]:
    given = call.params.objects("custom_headers", "key", "value")
    return [{"key": str(item["key"]), "value": str(item["value"])} for item in given]


def _check(values: Row) -> None:
    if "url" in values and not delivery.is_loopback(values["url"]):
        raise ApiError(
            422, {"error": "Invalid url given: this server sends webhooks to http(s) loopback addresses only"}
        )
    if values.get("signing_token"):
        try:
            signing.key_of(values["signing_token"])
        except ValueError as error:
            raise ApiError(422, {"error": f"Invalid signing_token: {error}"}) from None


def _flags(call: Call, before: Row) -> Row:
    sent = {name: flag for name in hooks.EVENTS if (flag := call.params.boolean(name)) is not None}
    call.params.check()
    return before | sent


def _declare(kind: str) -> None:
    base = f"/{kind}s/{{id}}/hooks"
    one = base + "/{hook_id}"

    @api.get(base)
    def _list(call: Call) -> Any:
        rows = call.store.find("hooks", owner_type=kind, owner_id=_owner(call, kind)["id"])
        return paged(call, rows, lambda row: _shown(call, row))

    @api.post(base)
    def _create(call: Call) -> Row:
        owner, values = _owner(call, kind), _values(call, new=True)
        events = _flags(call, {name: name == "push_events" for name in hooks.EVENTS})
        hook_id = call.store.insert(
            "hooks", owner_type=kind, owner_id=owner["id"], uuid=str(uuid.uuid4()), events=events,
            created_at=call.instance.clock.stamp(), **values,
        )  # fmt: skip
        return _shown(call, call.store.get("hooks", hook_id))

    @api.get(one)
    def _show(call: Call) -> Row:
        return _shown(call, _find(call, kind))

    @api.put(one)
    def _update(call: Call) -> Row:
        row = _find(call, kind)
        values = _values(call, new=False)
        if values.get("url", row["url"]) != row["url"]:
            values |= {"recent_failures": 0, "disabled_until": None}
        call.store.update("hooks", row["id"], events=_flags(call, row["events"]), **values)
        return _shown(call, call.store.get("hooks", row["id"]))

    @api.delete(one)
    def _delete(call: Call) -> None:
        call.store.delete("hooks", id=_find(call, kind)["id"])

    _declare_headers(kind, one)
    _declare_log(kind, one)


def _declare_headers(kind: str, one: str) -> None:
    @api.put(one + "/custom_headers/{key}")
    def _set(call: Call) -> None:
        row, value = _find(call, kind), call.params.need("value")
        call.params.check()
        kept = [item for item in row["custom_headers"] if item["key"] != call.piece("key")]
        call.store.update(
            "hooks", row["id"], custom_headers=[*kept, {"key": call.piece("key"), "value": value}]
        )

    @api.delete(one + "/custom_headers/{key}")
    def _unset(call: Call) -> None:
        row = _find(call, kind)
        kept = [item for item in row["custom_headers"] if item["key"] != call.piece("key")]
        if len(kept) == len(row["custom_headers"]):
            raise not_found("Custom Header")
        call.store.update("hooks", row["id"], custom_headers=kept)


def _declare_log(kind: str, one: str) -> None:
    @api.get(one + "/events")
    def _events(call: Call) -> Any:
        rows = call.store.find("hook_events", hook_id=_find(call, kind)["id"])[::-1]
        wanted = call.params.text("status")
        return paged(call, [row for row in rows if not wanted or _has_status(row, wanted)], _event)

    @api.post(one + "/events/{event_id}/resend")
    async def _resend(call: Call) -> Row:
        hook = _find(call, kind)
        row = call.store.one("hook_events", id=call.number("event_id"), hook_id=hook["id"])
        if row is None:
            raise not_found()
        key = row["request_headers"]["Idempotency-Key"]
        again = {
            "event": row["event"], "trigger_name": row["trigger_name"], "payload": row["request_data"],
            "idempotency_key": key,
        }  # fmt: skip
        status = await delivery.attempt(call.instance, hook, again)
        return {"response_status": status}

    @api.post(one + "/test/{trigger}")
    async def _test(call: Call) -> Row:
        hook, trigger = _find(call, kind), call.piece("trigger")
        event, payload = _sample(call, kind, trigger)
        row = {
            "event": event, "trigger_name": trigger, "payload": json.dumps(payload),
            "idempotency_key": str(uuid.uuid4()),
        }  # fmt: skip
        status = await delivery.attempt(call.instance, hook, row)
        if status >= 400:
            raise ApiError(422, {"message": f"Hook executed but returned HTTP {status}"})
        return {"message": "201 Created"}


def _sample(call: Call, kind: str, trigger: str) -> tuple[str, Row]:
    if kind != "project" or trigger not in TESTS:
        raise ApiError(400, {"error": "trigger does not have a valid value"})
    project, store = call.project(MAINTAINER), call.store
    if trigger == "push_events":
        sha = call.instance.repositories.resolve(project["id"], project["default_branch"]) or BLANK_SHA
        ref = f"refs/heads/{project['default_branch']}"
        return "Push Hook", hook_payloads.push(call.instance, project, call.user, ref, BLANK_SHA, sha)
    table = "jobs" if trigger == "job_events" else "pipelines"
    rows = store.find(table, project_id=project["id"])
    if not rows:
        raise ApiError(422, {"message": f"Ensure the project has CI {table}."})
    if table == "jobs":
        return "Job Hook", hook_payloads.job(call.instance, rows[-1], 0)
    return "Pipeline Hook", hook_payloads.pipeline(call.instance, rows[-1])


def _has_status(row: Row, wanted: str) -> bool:
    status = row["response_status"]
    classes = {"successful": "2", "client_failure": "4", "server_failure": "5"}
    if wanted in classes:
        return status.startswith(classes[wanted]) or (
            wanted == "server_failure" and status == "internal error"
        )
    return bool(status == wanted)


def _event(row: Row) -> Row:
    keys = (
        "id", "url", "request_headers", "response_headers", "response_body", "execution_duration",
        "response_status",
        "created_at", "internal_error_message",
    )  # fmt: skip
    return {key: row[key] for key in keys} | {
        "trigger": row["trigger_name"].removesuffix("_events") + "_hooks",
        "request_data": json.loads(row["request_data"]),
    }


_declare("project")
_declare("group")
