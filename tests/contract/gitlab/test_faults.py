"""Faults switched on by tests, the request log, reset, and state that outlives the process."""

import gitlab
import httpx
import pytest

from localcloud.gitlab.testing import Server


def test_a_status_with_body_and_headers_a_number_of_times(own_server: Server) -> None:
    own_server.sim("POST", "/faults", method="GET", path="/api/v4/user$", status=503, body="down", times=2,
                   headers={"Retry-After": "1"})  # fmt: skip
    answers = [own_server.api("GET", "/user") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [503, 503, 200]
    assert (answers[0].text, answers[0].headers["Retry-After"]) == ("down", "1")


def test_python_gitlab_gets_over_transient_errors(own_server: Server) -> None:
    own_server.sim("POST", "/faults", path="/api/v4/user$", status=502, times=1)
    with gitlab.Gitlab(
        own_server.url, private_token=own_server.admin_token, retry_transient_errors=True
    ) as client:
        client.auth()
        assert client.user is not None


def test_a_cut_connection(own_server: Server) -> None:
    own_server.sim("POST", "/faults", path="/user$", kind="reset", times=1)
    with pytest.raises(httpx.TransportError):
        own_server.api("GET", "/user")
    assert own_server.api("GET", "/user").status_code == 200


def test_a_connection_cut_after_the_work(own_server: Server) -> None:
    own_server.sim("POST", "/faults", path="/projects$", method="POST", kind="reset_after", times=1)
    with pytest.raises(httpx.TransportError):
        own_server.api("POST", "/projects", json={"name": "kept"})
    assert [found["name"] for found in own_server.api("GET", "/projects?search=kept").json()] == ["kept"]


def test_an_expired_token_fault(own_server: Server) -> None:
    own_server.sim("POST", "/faults", kind="token_expired", times=1)
    answer = own_server.api("GET", "/user")
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_token")


def test_a_slow_answer(own_server: Server) -> None:
    own_server.sim("POST", "/faults", path="/user$", delay_s=30, times=1)
    with pytest.raises(httpx.ReadTimeout):
        httpx.get(
            f"{own_server.url}/api/v4/user", headers={"PRIVATE-TOKEN": own_server.admin_token}, timeout=0.2
        )
    assert own_server.api("GET", "/user").status_code == 200


def test_wrong_rules_are_explained_and_rules_can_be_removed(own_server: Server) -> None:
    headers = {"Authorization": f"Bearer {own_server.sim_token}"}
    rule = {"kind": "explode", "pth": "x", "path": "("}
    refused = httpx.post(f"{own_server.url}/_sim/faults", headers=headers, json=rule)
    assert refused.status_code == 400
    assert len(refused.json()["message"]) == 3
    made = own_server.sim(
        "POST", "/faults", rules=[{"status": 500, "path": "x"}, {"status": 500, "path": "y"}]
    )
    own_server.sim("DELETE", f"/faults/{made['ids'][0]}")
    assert [rule["path"] for rule in own_server.sim("GET", "/faults")] == ["y"]
    own_server.sim("DELETE", "/faults")
    assert own_server.sim("GET", "/faults") == []


def test_the_control_interface_needs_its_token(own_server: Server) -> None:
    assert httpx.get(f"{own_server.url}/_sim/faults").status_code == 401
    headers = {"Authorization": f"Bearer {own_server.admin_token}"}
    assert httpx.post(f"{own_server.url}/_sim/reset", headers=headers).status_code == 401


def test_the_log_names_requests_and_keeps_no_secret(own_server: Server) -> None:
    httpx.get(f"{own_server.url}/api/v4/user?private_token={own_server.admin_token}")
    last = own_server.sim("GET", "/log")[-1]
    assert (last["method"], last["path"], last["status"]) == ("GET", "/api/v4/user", 200)
    assert own_server.admin_token not in str(own_server.sim("GET", "/log"))


def test_reset_starts_as_new(own_server: Server) -> None:
    first = own_server.seed({".gitlab-ci.yml": "one: {script: [a]}"})
    own_server.runner(first)
    own_server.sim("POST", "/reset")
    assert own_server.api("GET", "/projects").json() == []
    assert own_server.api("GET", "/runners/all").json() == []
    assert own_server.seed({".gitlab-ci.yml": "two: {script: [a]}"}) == first
    assert [job["name"] for job in own_server.api("GET", f"/projects/{first}/jobs").json()] == ["two"]


def test_everything_outlives_a_kill(own_server: Server) -> None:
    project_id = own_server.seed({".gitlab-ci.yml": "one: {script: [a]}"})
    runner = own_server.runner(project_id)
    job = runner.take()
    runner.trace(job, "half ")
    own_server.kill()
    own_server.start()
    assert runner.trace(job, "whole", start=5).status_code == 202
    assert runner.finish(job).status_code == 200
    found = own_server.api("GET", f"/projects/{project_id}/jobs/{job['id']}").json()
    assert found["status"] == "success"
    assert own_server.api("GET", f"/projects/{project_id}/jobs/{job['id']}/trace").text == "half whole"
