"""What a user sees when GitLab refuses, stalls or cannot be reached."""

import json
import queue
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from gitlab_double import GitLabDouble
from google.protobuf import empty_pb2
from plugin_client import PluginClient, PluginProcess, struct
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc, provider_pb2

VARIABLE = "gitlab:index/projectVariable:ProjectVariable"
RUNNER = "gitlab:index/userRunner:UserRunner"
INPUTS = {"project": "7", "key": "K", "value": "planted-value-1234"}


@pytest.mark.parametrize(
    ("status", "said", "expected"),
    [
        (400, "value is invalid", "Correct the property"),
        (403, "403 Forbidden", "scope `api`"),
        (404, "404 Project Not Found", "may not see"),
        (409, "conflict", "import it"),
        (429, "slow down", "rate limit"),
    ],
)
def test_refusals_name_the_call_and_the_remedy(
    plugin: PluginClient, gitlab: GitLabDouble, status: int, said: str, expected: str
) -> None:
    gitlab.fail("POST", "/projects/7/variables", status=status, body={"message": said}, times=9)
    with pytest.raises(grpc.RpcError) as failed:
        plugin.made(VARIABLE, INPUTS)
    message = failed.value.details()
    assert f"{status} to POST {gitlab.url}/api/v4/projects/7/variables" in message
    assert said in message
    assert expected in message
    assert "Traceback" not in message


def test_a_taken_name_is_explained_as_such(plugin: PluginClient) -> None:
    plugin.made(VARIABLE, INPUTS)
    with pytest.raises(grpc.RpcError, match="import it"):
        plugin.made(VARIABLE, INPUTS)


def test_secrets_echoed_by_gitlab_are_masked(plugin: PluginClient, gitlab: GitLabDouble) -> None:
    echo = {"message": f"bad value {INPUTS['value']} from {gitlab.token}"}
    gitlab.fail("POST", "/projects/7/variables", status=400, body=echo)
    with pytest.raises(grpc.RpcError) as failed:
        plugin.made(VARIABLE, INPUTS)
    assert "[secret]" in failed.value.details()
    assert INPUTS["value"] not in failed.value.details()
    assert gitlab.token not in failed.value.details()


def test_rate_limit_is_waited_out(plugin: PluginClient, gitlab: GitLabDouble) -> None:
    gitlab.fail("POST", "/projects/7/variables", status=429, headers={"Retry-After": "0"}, times=2)
    plugin.made(VARIABLE, INPUTS)
    assert gitlab.count("POST", "/projects/7/variables") == 3


def test_reads_are_repeated_after_transient_faults(plugin: PluginClient, gitlab: GitLabDouble) -> None:
    variable, state = plugin.made(VARIABLE, INPUTS)
    gitlab.fail("GET", "/projects/7/variables/K", status=503, headers={"Retry-After": "0"})
    assert plugin.read(VARIABLE, variable, state, INPUTS).id == variable


def test_configure_refuses_a_bad_token_before_anything_is_made(gitlab: GitLabDouble) -> None:
    with PluginClient() as client, pytest.raises(grpc.RpcError) as failed:
        client.configure(baseUrl=gitlab.url, token="glpat-planted-wrong-one")
    assert "401" in failed.value.details()
    assert "GITLAB_TOKEN" in failed.value.details()
    assert "glpat-" not in failed.value.details()


def test_configure_says_where_nothing_answers() -> None:
    with PluginClient() as client, pytest.raises(grpc.RpcError, match="no answer"):
        client.configure(baseUrl="http://127.0.0.1:9/", token="glpat-planted-0001", retries="0")


def test_configuration_faults_come_together() -> None:
    news = {
        "baseUrl": "gitlab.test",
        "cacertFile": "missing.pem",
        "clientCert": "missing.pem",
        "insecure": "maybe",
        "tokn": "x",
        "context": "work",
    }
    with PluginClient() as client:
        answer = client.stub.CheckConfig(
            provider_pb2.CheckRequest(urn="urn:pulumi:d::p::t::n", news=struct(news))
        )
    assert {failure.property for failure in answer.failures} == {*news, "token", "clientKey"}


def test_a_web_page_instead_of_json_is_explained(gitlab: GitLabDouble, plugin: PluginClient) -> None:
    gitlab.fail("GET", "/user", status=200, body=["not an object"])
    with pytest.raises(grpc.RpcError, match="login page"):
        plugin.invoke("gitlab:index/getCurrentUser:getCurrentUser", {})


def test_types_that_are_not_served_are_named(plugin: PluginClient) -> None:
    with pytest.raises(grpc.RpcError, match="stand-in"):
        plugin.check("gitlab:index/label:Label", {})


def test_the_notice_and_nothing_else_is_written_to_standard_error(gitlab: GitLabDouble) -> None:
    with PluginProcess() as client:
        client.configure(baseUrl=gitlab.url, token=gitlab.token)
    assert client.stderr.startswith("gitlab plugin: this is a stand-in")
    assert len(client.stderr.splitlines()) == 1


class _Engine(engine_pb2_grpc.EngineServicer):
    """Pulumi's engine as far as a plugin talks to it."""

    def __init__(self) -> None:
        self.said: queue.Queue[tuple[int, str]] = queue.Queue()

    def Log(self, request: Any, context: Any) -> empty_pb2.Empty:  # noqa: N802 - gRPC's name
        self.said.put((request.severity, request.message))
        return empty_pb2.Empty()


def test_the_engine_is_told_once_that_this_is_a_stand_in() -> None:
    engine, server = _Engine(), grpc.server(ThreadPoolExecutor(max_workers=1))
    engine_pb2_grpc.add_EngineServicer_to_server(engine, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with PluginProcess(f"127.0.0.1:{port}"):
        severity, message = engine.said.get(timeout=60)
    assert severity == engine_pb2.INFO
    assert "stand-in" in message
    assert engine.said.empty()
    server.stop(None).wait()


def test_schema_is_json_with_all_types(plugin: PluginClient) -> None:
    schema = json.loads(plugin.stub.GetSchema(provider_pb2.GetSchemaRequest()).schema)
    assert schema["resources"][RUNNER]["properties"]["token"]["secret"] is True
    assert schema["resources"][RUNNER]["requiredInputs"] == ["runnerType"]
