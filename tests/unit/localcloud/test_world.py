"""The file that tells every part where the local cloud is."""

from pathlib import Path

import pytest

from localcloud.paths import cache_home, content_hash, state_home
from localcloud.world import NoWorldError, World


def test_without_a_cloud_the_remedy_is_named() -> None:
    with pytest.raises(NoWorldError, match="scripts/localcloud up"):
        World.load()


def test_ensure_makes_tokens_once_and_keeps_them_private() -> None:
    made = World.ensure()
    assert World.ensure() == made == World.load()
    assert World.path().stat().st_mode & 0o777 == 0o600
    assert made.sim_token != World().sim_token


def test_no_token_shows_in_the_text_form() -> None:
    world = World()
    shown = repr(world)
    for secret in (world.gitlab_token, world.github_token, world.sim_token, world.admin_password):
        assert secret not in shown


def test_a_tenant_environment_holds_no_control_token() -> None:
    world = World()
    env = world.environment("other")
    assert env["OS_CLOUD"] == "other"
    assert env["GITLAB_BASE_URL"].endswith("/api/v4/")
    assert world.sim_token not in env.values()
    assert world.admin_password not in env.values()


def test_places_follow_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHADOW_LOCALCLOUD_HOME")
    monkeypatch.delenv("SHADOW_CACHE_HOME", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "states"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert state_home() == tmp_path / "states/shadow-gpu-runners/localcloud"
    assert cache_home() == tmp_path / "caches/shadow-gpu-runners"


def test_the_content_hash_tells_pieces_apart(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("xy")
    assert content_hash(file) == content_hash("xy")
    assert content_hash("x", "y") != content_hash("xy")
