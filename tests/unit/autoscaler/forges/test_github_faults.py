"""Every way in which a call of GitHub's API fails, and what it asks for; no network."""

import base64
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from shadow_autoscaler.adapters.github import Account, App, Connection, GitHubForge, Token
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError
from shadow_autoscaler.core.jobs import ForgeKind, JobKey
from shadow_autoscaler.core.machines import Market
from shadow_autoscaler.core.pools import Pool, Rung

Answer = Callable[[httpx.Request], httpx.Response]
POOL = Pool("p1", ForgeKind.GITHUB, ("gpu",), (Rung("f", Market.SPOT),), 1)
GROUPED = Pool("p1", ForgeKind.GITHUB, ("gpu",), (Rung("f", Market.SPOT),), 1, runner_group="gpu")
KEY = JobKey(ForgeKind.GITHUB, "acme/jobs", 5)
JIT = base64.b64encode(b"{}").decode()
PEM = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
)


def forge(answer: Answer, **change: Any) -> GitHubForge:
    given: dict[str, Any] = {
        "accounts": (Account("acme", installation_id=7),),
        "credential": Token(lambda: "ghp_secretsecretsecret"),
        "deployment_id": "d1",
        "connection": Connection("https://ghe.example/api/v3", transport=httpx.MockTransport(answer)),
    }
    return GitHubForge(**given | change)


def failing(call: Callable[[], object]) -> Failure:
    with pytest.raises(PortError) as caught:
        call()
    assert "secretsecret" not in str(caught.value)
    assert len(caught.value.failure.text) <= 300
    return caught.value.failure


def register(answer: Answer) -> Failure:
    return failing(lambda: forge(answer).register(POOL, "gpu-1", KEY))


def replying(status: int, body: Any = None, **headers: str) -> Answer:
    return lambda _: httpx.Response(status, json=body or {"message": "no"}, headers=headers)


def raising(error: type[httpx.TransportError]) -> Answer:
    def answer(request: httpx.Request) -> httpx.Response:
        raise error("with ghp_secretsecretsecret", request=request)

    return answer


@pytest.mark.parametrize(
    ("answer", "kind", "wait"),
    [
        (replying(401), FailureKind.AUTH, None),
        (replying(403), FailureKind.REFUSED, None),
        (replying(404), FailureKind.REFUSED, None),
        (replying(409), FailureKind.CONFLICT, None),
        (replying(410), FailureKind.REFUSED, None),
        (replying(418), FailureKind.REFUSED, None),
        (replying(422), FailureKind.CONFIG, None),
        (
            replying(422, {"message": "Runner group 1 has reached max limit of 10000 runners"}),
            FailureKind.QUOTA,
            None,
        ),
        (replying(429), FailureKind.THROTTLED, 60.0),
        (replying(429, **{"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"}), FailureKind.THROTTLED, 1.0),
        (replying(403, **{"Retry-After": "60"}), FailureKind.THROTTLED, 60.0),
        (
            replying(403, {"message": "You have exceeded a secondary rate limit."}),
            FailureKind.THROTTLED,
            60.0,
        ),
        (replying(403, {"message": "abuse detection mechanism"}), FailureKind.THROTTLED, 60.0),
        (
            replying(
                403,
                **{
                    "X-RateLimit-Remaining": "0",
                    "X-RateLimit-Reset": "1764504090",
                    "Date": "Sun, 30 Nov 2025 12:00:00 GMT",
                },
            ),
            FailureKind.THROTTLED,
            90.0,
        ),
        (replying(500), FailureKind.UNKNOWN_OUTCOME, None),
        (replying(502), FailureKind.UNKNOWN_OUTCOME, None),
        (replying(503, **{"Retry-After": "5"}), FailureKind.UNKNOWN_OUTCOME, 5.0),
        (replying(504), FailureKind.UNKNOWN_OUTCOME, None),
        (raising(httpx.ConnectError), FailureKind.TRANSIENT, None),
        (raising(httpx.ConnectTimeout), FailureKind.TRANSIENT, None),
        (raising(httpx.PoolTimeout), FailureKind.TRANSIENT, None),
        (raising(httpx.ProxyError), FailureKind.TRANSIENT, None),
        (raising(httpx.ReadTimeout), FailureKind.UNKNOWN_OUTCOME, None),
        (raising(httpx.WriteError), FailureKind.UNKNOWN_OUTCOME, None),
        (raising(httpx.RemoteProtocolError), FailureKind.UNKNOWN_OUTCOME, None),
    ],
)
def test_a_registration_that_fails(answer: Answer, kind: FailureKind, wait: float | None) -> None:
    failure = register(answer)
    assert failure.kind is kind
    assert failure.retry_after_s == wait
    assert "generate-jitconfig" in failure.text


@pytest.mark.parametrize("answer", [replying(500), replying(503), raising(httpx.ReadTimeout)])
def test_a_read_that_fails_may_be_made_again(answer: Answer) -> None:
    assert failing(forge(answer).runners).kind is FailureKind.TRANSIENT


@pytest.mark.parametrize(
    "body", [b"<html>", b"[]", b'{"runners": [{"id": "x"}]}', b'{"runners": 5}', b'{"runners": {}}', b"null"]
)
def test_an_answer_that_is_none_of_githubs_is_no_list(body: bytes) -> None:
    failure = failing(forge(lambda _: httpx.Response(200, content=body)).runners)
    assert failure.kind is FailureKind.TRANSIENT
    assert "not what GitHub documents" in failure.text


def test_the_permission_that_is_missing_is_named() -> None:
    answer = replying(403, **{"X-Accepted-GitHub-Permissions": "organization_self_hosted_runners=write"})
    assert register(answer).text.endswith("it wants organization_self_hosted_runners=write")


def minted(asked: httpx.Request, **change: Any) -> httpx.Response:
    body = json.loads(asked.content)
    runner = {"id": 9, "name": body["name"], "runner_group_id": body["runner_group_id"]}
    return httpx.Response(201, json={"runner": runner | change, "encoded_jit_config": JIT})


def test_a_runner_in_another_group_than_asked_for_is_removed_again() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(f"{request.method} {request.url.path}")
        if request.method == "GET":
            return httpx.Response(200, json={"runner_groups": [{"id": 4, "name": "GPU"}]})
        return minted(request, runner_group_id=1) if request.method == "POST" else httpx.Response(204)

    failure = failing(lambda: forge(answer).register(GROUPED, "gpu-1", KEY))
    assert failure.kind is FailureKind.CONFIG
    assert "group 1, not 4" in failure.text
    assert asked[-1] == "DELETE /api/v3/orgs/acme/actions/runners/9"


@pytest.mark.parametrize("config", ["", "no base64!", None])
def test_an_empty_configuration_is_refused_and_its_runner_removed(config: str | None) -> None:
    deleted: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "DELETE":
            deleted.append(request.url.path)
            return httpx.Response(204)
        body = {"runner": {"id": 9, "name": "gpu-1", "runner_group_id": 1}}
        return httpx.Response(201, json=body if config is None else body | {"encoded_jit_config": config})

    assert register(answer).kind is FailureKind.TRANSIENT
    assert deleted == ["/api/v3/orgs/acme/actions/runners/9"]


class Signing:
    """Answers sign-ins and counts them."""

    def __init__(self) -> None:
        self.sign_ins: list[dict[str, Any]] = []
        self.fail: Answer | None = None
        self.tokens: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/access_tokens"):
            if self.fail:
                return self.fail(request)
            self.sign_ins.append(_claims(request))
            body = {
                "token": f"ghs_{len(self.sign_ins)}",
                "expires_at": "2099-01-01T00:00:00Z",
                "permissions": {},
            }
            return httpx.Response(201, json=body | {"repository_selection": "all"})
        self.tokens.append(request.headers["authorization"])
        return httpx.Response(200, json={"runners": []})


def _claims(request: httpx.Request) -> dict[str, Any]:
    part = request.headers["authorization"].removeprefix("Bearer ").split(".")[1]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return found


def test_an_installation_token_is_cached_and_signed_for_a_clock_that_is_a_minute_late() -> None:
    signing = Signing()
    own = forge(signing, credential=App("Iv23", PEM.decode))
    for _ in range(3):
        own.runners()
    (claims,) = signing.sign_ins
    assert claims["iss"] == "Iv23"
    assert claims["exp"] - claims["iat"] == 600
    assert claims["iat"] <= time.time() - 60
    assert signing.tokens == ["token ghs_1"] * 3


@pytest.mark.parametrize(
    ("fail", "kind"),
    [
        (replying(401), FailureKind.AUTH),
        (replying(403), FailureKind.AUTH),
        (replying(404), FailureKind.AUTH),
        (replying(503), FailureKind.TRANSIENT),
        (replying(429, **{"Retry-After": "9"}), FailureKind.THROTTLED),
        (raising(httpx.ReadTimeout), FailureKind.TRANSIENT),
    ],
)
def test_a_sign_in_that_fails_has_registered_nothing(fail: Answer, kind: FailureKind) -> None:
    signing = Signing()
    signing.fail = fail
    failure = failing(lambda: forge(signing, credential=App("Iv23", PEM.decode)).register(POOL, "gpu-1", KEY))
    assert failure.kind is kind


def test_a_rotated_secret_takes_effect_at_the_next_call() -> None:
    secrets, seen = ["ghp_one", "ghp_two"], list[str]()

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["authorization"])
        return httpx.Response(200, json={"runners": []})

    own = forge(answer, credential=Token(lambda: secrets[0]))
    own.runners()
    secrets.pop(0)
    own.runners()
    assert [text.rpartition(" ")[2] for text in seen] == ["ghp_one", "ghp_two"]


def test_writes_go_one_at_a_time() -> None:
    inside, most = [0], [0]
    gate = threading.Barrier(4)

    def answer(request: httpx.Request) -> httpx.Response:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        gate_seen.wait(0.01)
        inside[0] -= 1
        return minted(request)

    gate_seen = threading.Event()
    own = forge(answer)

    def work(number: int) -> None:
        gate.wait()
        own.register(POOL, f"gpu-{number}", KEY)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]


def test_a_ca_bundle_that_cannot_be_read_is_named() -> None:
    own = forge(replying(200), connection=Connection(ca_file="/nowhere/ca.pem"))
    failure = failing(own.runners)
    assert failure.kind is FailureKind.CONFIG
    assert "/nowhere/ca.pem" in failure.text


def test_an_account_without_repositories_cannot_have_runners_of_repositories() -> None:
    with pytest.raises(ValueError, match="name its `repositories`"):
        Account("somebody", organization_runners=False)
