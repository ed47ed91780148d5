"""Errors of the services and of the way to them: what is sent again, and what never is."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from contract.autoscaler.cloud.labs import RealLab, new_vm, spec

from localcloud.openstack.layout import url
from localcloud.openstack.proxy import FaultyProxy
from shadow_autoscaler.adapters.openstack import OpenStackCloud
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError

pytestmark = pytest.mark.localcloud

CREATE = ("POST", r"/servers$")
LIST = ("GET", r"/servers/detail")
NOVA = f"{url('nova-api')}/v2.1"


def refused(cloud: OpenStackCloud, vm: str = "") -> Failure:
    with pytest.raises(PortError) as caught:
        cloud.create(spec(vm))
    return caught.value.failure


def changed(cloud: OpenStackCloud, **settings: float) -> OpenStackCloud:
    return OpenStackCloud(replace(cloud._settings, **settings))  # type: ignore[arg-type]


def body(message: str, code: int) -> dict[str, object]:
    return {"fault": {"code": code, "message": message}}


@pytest.mark.parametrize(
    ("status", "message", "headers", "kind"),
    [
        (
            403,
            "Quota exceeded for cores: Requested 8, but already used 60 of 64 cores",
            {},
            FailureKind.QUOTA,
        ),
        (400, "Invalid image", {}, FailureKind.CONFIG),
        (404, "Flavor 7 could not be found.", {}, FailureKind.CONFIG),
        (400, "Unknown security group", {}, FailureKind.CONFIG),
        (409, "Name already in use", {}, FailureKind.CONFLICT),
        (413, "Over limit", {"Retry-After": "7"}, FailureKind.THROTTLED),
        (429, "Too many requests", {"Retry-After": "7"}, FailureKind.THROTTLED),
        (503, "The Keystone service is temporarily unavailable", {"Retry-After": "7"}, FailureKind.TRANSIENT),
        (500, "Unexpected API Error", {}, FailureKind.UNKNOWN_OUTCOME),
    ],
)
def test_a_refused_create_call_is_sent_once_and_told_by_kind(
    real: RealLab, tmp_path: Path, status: int, message: str, headers: dict[str, str], kind: FailureKind
) -> None:
    with FaultyProxy(NOVA) as nova:
        nova.rule(*CREATE, status=status, body=body(message, status), headers=headers)
        failure = refused(real.through(tmp_path, compute=nova))
        assert (failure.kind, failure.retry_after_s) == (kind, 7.0 if headers else None)
        assert message in failure.text
        assert nova.count(*CREATE) == 1
    assert real.cloud.servers() == ()


def test_a_connection_that_breaks_after_the_create_call_leaves_its_outcome_unknown(
    real: RealLab, tmp_path: Path
) -> None:
    vm = new_vm()
    with FaultyProxy(NOVA) as nova:
        nova.rule(*CREATE, kind="reset-after")
        assert refused(real.through(tmp_path, compute=nova), vm).kind is FailureKind.UNKNOWN_OUTCOME
        assert nova.count(*CREATE) == 1
    (found,) = real.cloud.servers(vm)
    assert found.marks["vm"] == vm


def test_a_connection_that_breaks_before_the_cloud_saw_the_call_is_unknown_too(
    real: RealLab, tmp_path: Path
) -> None:
    with FaultyProxy(NOVA) as nova:
        nova.rule(*CREATE, kind="reset-before")
        assert refused(real.through(tmp_path, compute=nova)).kind is FailureKind.UNKNOWN_OUTCOME
    assert real.cloud.servers() == ()


def test_an_api_that_nobody_listens_at_was_certainly_not_asked(real: RealLab, tmp_path: Path) -> None:
    with FaultyProxy(NOVA) as nova:
        cloud = real.through(tmp_path, compute=nova)
        assert cloud.servers() == ()
    assert refused(cloud).kind is FailureKind.TRANSIENT


def test_silence_ends_at_the_time_out(real: RealLab, tmp_path: Path) -> None:
    with FaultyProxy(NOVA) as nova:
        cloud = real.through(tmp_path, compute=nova)
        assert cloud.servers() == ()
        impatient = changed(cloud, timeout_s=3)
        assert impatient.quota().instances is not None
        nova.rule(*CREATE, kind="silence")
        assert refused(impatient).kind is FailureKind.UNKNOWN_OUTCOME
        nova.rule(*LIST, kind="silence", times=2)
        with pytest.raises(PortError, match="timed out") as caught:
            impatient.servers()
        assert caught.value.failure.kind is FailureKind.TRANSIENT


@pytest.mark.parametrize("answer", [None, [1], {}])
def test_an_answer_that_makes_no_sense_leaves_the_outcome_unknown(
    real: RealLab, tmp_path: Path, answer: object
) -> None:
    with FaultyProxy(NOVA) as nova:
        nova.rule(*CREATE, status=202, body=answer)
        assert refused(real.through(tmp_path, compute=nova)).kind is FailureKind.UNKNOWN_OUTCOME


def test_a_refused_token_is_renewed_once(real: RealLab, tmp_path: Path) -> None:
    with FaultyProxy(NOVA) as nova:
        cloud = real.through(tmp_path, compute=nova)
        cloud.servers()
        auth = cloud._session._connect().session.auth
        assert auth is not None
        auth.auth_ref._auth_token = "expired-meanwhile"  # type: ignore[attr-defined]
        vm = new_vm()
        cloud.create(spec(vm))
        assert [server.marks["vm"] for server in cloud.servers()] == [vm]
        assert nova.count(*CREATE) == 1
        assert nova.count("GET", "/flavors") == 2


def test_a_credential_that_stays_refused_is_not_tried_for_ever(real: RealLab, tmp_path: Path) -> None:
    with FaultyProxy(NOVA) as nova:
        cloud = real.through(tmp_path, compute=nova)
        nova.rule(*LIST, status=401, body=body("The request requires authentication", 401), times=9)
        with pytest.raises(PortError) as caught:
            cloud.servers()
        assert caught.value.failure.kind is FailureKind.AUTH
        assert nova.count(*LIST) == 2


def test_a_wrong_secret_is_an_authentication_failure_that_does_not_show_it(
    real: RealLab, tmp_path: Path
) -> None:
    real.through(tmp_path)
    file = tmp_path / "clouds.yaml"
    entries = yaml.safe_load(file.read_text())
    entries["clouds"][real.settings.cloud]["auth"]["application_credential_secret"] = "planted-secret"
    file.write_text(yaml.safe_dump(entries))
    with pytest.raises(PortError) as caught:
        real.with_settings(clouds_file=str(file)).servers()
    assert caught.value.failure.kind is FailureKind.AUTH
    assert "planted-secret" not in caught.value.failure.text


def test_pages_cost_one_call_each_and_a_list_is_whole_or_none(real: RealLab, tmp_path: Path) -> None:
    vms = sorted(new_vm() for _ in range(3))
    # Nova may leave a server out of a page while it moves from the request to a cell.
    for made in [real.cloud.create(spec(vm)) for vm in vms]:
        real.settled(made)
    with FaultyProxy(NOVA) as nova:
        paged = changed(real.through(tmp_path, compute=nova), page_size=2)
        assert sorted(server.marks["vm"] for server in paged.servers()) == vms
        assert nova.count(*LIST) == 2
        nova.rule("GET", "marker=", status=500, body=body("oops", 500))
        with pytest.raises(PortError) as caught:
            paged.servers()
        assert caught.value.failure.kind is FailureKind.TRANSIENT
        nova.rule("GET", "marker=", status=400, body=body("marker [1] not found", 400))
        assert len(paged.servers()) == 3
        nova.rule("GET", "marker=", status=400, body=body("marker [1] not found", 400), times=3)
        with pytest.raises(PortError, match="changed too fast"):
            paged.servers()


def test_servers_of_a_cell_that_is_down_are_known_from_the_list_before(real: RealLab, tmp_path: Path) -> None:
    mine = real.cloud.create(spec())
    hidden = {"id": mine.server_id, "status": "UNKNOWN", "tenant_id": "1", "created": "2026-11-30T12:00:00Z"}
    with FaultyProxy(NOVA) as nova:
        cloud = real.through(tmp_path, compute=nova)
        nova.rule(*LIST, status=200, body={"servers": [hidden]})
        with pytest.raises(PortError, match="cell that is down"):
            cloud.servers()
        cloud.servers()
        nova.rule(*LIST, status=200, body={"servers": [hidden]}, times=2)
        for _ in range(2):
            (shown,) = cloud.servers()
            assert (shown.raw_status, shown.marks["vm"]) == ("UNKNOWN", mine.name)


def test_limits_that_a_tenant_may_not_read_are_unknown(real: RealLab, tmp_path: Path) -> None:
    with FaultyProxy(NOVA) as nova:
        cloud = real.through(tmp_path, compute=nova)
        nova.rule("GET", "/limits", status=403, body=body("Policy doesn't allow", 403))
        found = cloud.quota()
        assert (found.instances, found.cores, found.ram_mib) == (None, None, None)
        assert found.gigabytes is not None
        assert found.ports is not None
        nova.rule("GET", "/limits", status=500, body=body("oops", 500))
        with pytest.raises(PortError):
            cloud.quota()


def test_an_old_cloud_is_refused_with_what_it_lacks(real: RealLab, tmp_path: Path) -> None:
    version = {"id": "v2.1", "status": "CURRENT", "version": "2.60", "min_version": "2.1"}
    with FaultyProxy(NOVA) as nova:
        links = [{"rel": "self", "href": f"{nova.url}/"}]
        nova.rule("GET", r"/v2\.1/?$", status=200, body={"version": {**version, "links": links}}, times=9)
        with pytest.raises(PortError, match=r"2\.60 is the cloud's highest; expected at least 2\.79"):
            real.through(tmp_path, compute=nova).servers()
