"""Proxies from the environment and CA bundles, for both forges."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from unit.autoscaler.forges.loopback import Reply, certificate, serving

from shadow_autoscaler.adapters.github import Account, Connection, GitHubForge, Token
from shadow_autoscaler.adapters.gitlab import GitLabForge
from shadow_autoscaler.core.faults import FailureKind, PortError


def github(url: str, ca_file: str = "") -> GitHubForge:
    accounts = (Account("acme", ("jobs",)),)
    connection = Connection(f"{url}/api/v3", ca_file=ca_file, timeout_s=5.0)
    return GitHubForge(accounts, Token(lambda: "t"), "d1", connection=connection)


def gitlab(url: str, ca_file: str = "") -> GitLabForge:
    return GitLabForge(lambda: "t", ("acme/jobs",), {}, url=url, ca_file=ca_file, timeout_s=5.0)


Make = Callable[..., Any]
FORGES = pytest.mark.parametrize("make", [github, gitlab])


def nothing(_: str, path: str, __: bytes) -> Reply:
    return Reply(200, b'{"workflow_runs": []}' if "actions" in path else b"[]")


@FORGES
def test_a_proxy_of_the_environment_is_used(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(nothing) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        forge = make("http://forge.invalid")
        assert forge.jobs() == ()
        assert all(line.startswith("GET http://forge.invalid/api/v") for line in proxy.asked)
        forge.close()


@FORGES
def test_a_forge_whose_ca_nobody_knows_is_refused_with_a_remedy_and_reached_with_its_bundle(
    make: Make, tmp_path: Path
) -> None:
    bundle, context = certificate(tmp_path)
    with serving(nothing, context) as server:
        stranger = make(server.url)
        with pytest.raises(PortError) as caught:
            stranger.jobs()
        assert caught.value.failure.kind is FailureKind.TRANSIENT
        assert "CA bundle" in caught.value.failure.text
        stranger.close()
        known = make(server.url, str(bundle))
        assert known.jobs() == ()
        known.close()
