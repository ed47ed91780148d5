"""Every store keeps the same promises: create once, never change, lose nothing when two write at once."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

from gate_sessions import B7, latency
from shadow_perfgate import codec
from shadow_perfgate.baseline.ancestry import Ancestry, of
from shadow_perfgate.baseline.choose import choose
from shadow_perfgate.baseline.git_branch import GitBranchStore
from shadow_perfgate.baseline.s3 import S3Store
from shadow_perfgate.baseline.sessions import Key, append, entries, load
from shadow_perfgate.baseline.store import ExistsError, Store, open_store
from shadow_perfgate.errors import InputError, StoreError

NOW = datetime(2026, 11, 30, 13, 0, tzinfo=UTC)
SESSION = replace(latency(B7), project="acme/llm", commit="a" * 40)


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@localhost"]
    return subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def clone(tmp_path: Path, name: str) -> Path:
    remote = tmp_path / "remote.git"
    if not remote.exists():
        subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True)
    subprocess.run(["git", "clone", "-q", str(remote), str(tmp_path / name)], check=True, capture_output=True)
    return tmp_path / name


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    name = "b" + str(abs(hash(tmp_path)))[:12]
    boto3.client("s3", endpoint_url=s3_endpoint).create_bucket(Bucket=name)
    return name


@pytest.fixture(params=["folder", "git", "local git", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "s3":
        name, endpoint = request.getfixturevalue("bucket"), request.getfixturevalue("s3_endpoint")
        return open_store(f"s3://{name}/gate", {"endpoint": endpoint}, tmp_path)
    if request.param == "git":
        return open_store("git:perfgate-data", {}, clone(tmp_path, "work"))
    if request.param == "local git":
        git(tmp_path, "init", "-q")
        return open_store("git:perfgate-data", {}, tmp_path)
    return open_store("folder:data", {}, tmp_path)


def test_files_are_created_once_and_read_back(store: Store) -> None:
    assert store.names("") == []
    store.create({"a/1.json": b"one", "a/2.json": b"two"})
    with pytest.raises(ExistsError):
        store.create({"a/1.json": b"other"})
    assert store.names("a/") == ["a/1.json", "a/2.json"]
    assert dict(store.read(["a/1.json", "a/3.json", "a/2.json"])) == {"a/1.json": b"one", "a/2.json": b"two"}
    store.delete(["a/1.json", "a/9.json"])
    assert store.names("a/") == ["a/2.json"]


def test_sessions_come_back_whole_and_in_order(store: Store) -> None:
    later = NOW.replace(hour=14)
    second = append(store, SESSION, "main", later)
    first = append(store, SESSION, "main", NOW)
    key = Key.of("acme/llm", "main", SESSION.fingerprint, SESSION.workload)
    found = entries(store, key.prefix)
    assert [entry.time for entry in found] == [NOW, later]
    assert [entry.commit for entry in found] == ["a" * 12] * 2
    assert load(store, found) == [first, second]
    assert entries(store, replace(key, branch="mr/7").prefix) == []


def test_attempts_of_requests_lie_on_a_branch_of_their_own(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    store = open_store("git:perfgate-data", {}, tmp_path)
    for branch in ("main", "mr/7"):
        append(store, SESSION, branch, NOW)
    found = {
        branch: git(tmp_path, "ls-tree", "-r", "--name-only", branch).split("/")[1]
        for branch in ("perfgate-data", "perfgate-data-attempts")
    }
    assert found == {"perfgate-data": "main", "perfgate-data-attempts": "mr%2F7"}
    both = entries(open_store("git:perfgate-data", {}, tmp_path), "")
    assert len(both) == 2
    assert load(store, both)[0].workload == SESSION.workload
    store.delete(entry.name for entry in both)
    assert entries(store, "") == []


def test_c22_concurrent_writers_lose_nothing(tmp_path: Path) -> None:
    stores = [GitBranchStore(clone(tmp_path, f"job{i}"), "perfgate-data") for i in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda store: append(store, SESSION, "main", NOW), stores))
    key = Key.of("acme/llm", "main", SESSION.fingerprint, SESSION.workload)
    assert len(entries(GitBranchStore(clone(tmp_path, "reader"), "perfgate-data"), key.prefix)) == 4


def test_c22_two_jobs_on_the_command_line(bucket: str, s3_endpoint: str, tmp_path: Path) -> None:
    config = f'[store]\nurl = "s3://{bucket}/gate"\nendpoint = "{s3_endpoint}"\nregion = "us-east-1"\n'
    (tmp_path / "perfgate.toml").write_text(config, encoding="utf-8")
    for name, session in (("same", SESSION), ("other", replace(SESSION, tool_version="1"))):
        (tmp_path / f"{name}.json").write_text(codec.dumps(session), encoding="utf-8")
    argv = [sys.executable, "-m", "shadow_perfgate", "baseline"]
    jobs = [
        subprocess.Popen([*argv, "add", *names], cwd=tmp_path, stdout=subprocess.DEVNULL)
        for names in (["same.json", "other.json"], ["same.json"])
    ]
    assert [job.wait(120) for job in jobs] == [0, 0]
    listed = subprocess.run([*argv, "list"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert len(listed.stdout.split()) == 2


def test_c22_a_taken_name_is_answered_with_another(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = iter(["00000000", "00000000", "11111111"])
    monkeypatch.setattr("shadow_perfgate.baseline.sessions.secrets.token_hex", lambda _: next(tokens))
    ids = {append(store, SESSION, "main", NOW).id for _ in range(2)}
    assert len(ids) == 2


class IgnoresConditions(S3Store):
    """A server that takes every PutObject, and another writer that came last."""

    def create(self, files: dict[str, bytes]) -> None:  # type: ignore[override]
        """Write as if the header were not there, then let the other writer win."""
        original = self.client.put_object

        def put(**arguments: object) -> object:
            arguments.pop("IfNoneMatch")
            original(**arguments)  # type: ignore[arg-type]
            return original(**{**arguments, "Body": b"another writer"})  # type: ignore[arg-type]

        self.client.put_object = put  # type: ignore[method-assign,assignment]
        try:
            super().create(files)
        finally:
            self.client.put_object = original  # type: ignore[method-assign]


def test_s3_that_ignores_conditions_is_noticed(bucket: str, s3_endpoint: str) -> None:
    plain = S3Store.connect(bucket, "", {"endpoint": s3_endpoint})
    with pytest.raises(ExistsError):
        IgnoresConditions(plain.client, bucket, "").create({"a.json": b"mine"})


def test_s3_errors_name_the_call_and_the_remedy(bucket: str, s3_endpoint: str) -> None:
    missing = S3Store.connect(f"{bucket}-none", "p", {"endpoint": s3_endpoint})
    with pytest.raises(StoreError, match=r"PutObject: NoSuchBucket.*check bucket, region"):
        missing.create({"a.json": b"x"})
    nowhere = S3Store.connect(bucket, "p", {"endpoint": "http://127.0.0.1:9"})
    with pytest.raises(StoreError, match=r"ListObjectsV2.*endpoint"):
        nowhere.names("")


@pytest.mark.parametrize("url", ["folder:", "s3:bucket", "https://x", "", "git:"])
def test_other_addresses_are_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"store.url: got .*expected folder:PATH"):
        open_store(url, {}, tmp_path)


def test_a_push_that_is_forbidden_says_what_the_token_needs(tmp_path: Path) -> None:
    work = clone(tmp_path, "work")
    hook = tmp_path / "remote.git/hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho 'You are not allowed to push' >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(StoreError, match="may push this branch"):
        GitBranchStore(work, "perfgate-data").create({"a.json": b"x"})


@pytest.fixture
def history(tmp_path: Path) -> tuple[Path, list[str]]:
    """Return a repository with five commits on main and a branch off the third."""
    work = clone(tmp_path, "work")
    git(work, "checkout", "-q", "-b", "main")
    commits: list[str] = []
    for number in range(5):
        git(work, "commit", "-q", "--allow-empty", "-m", f"commit {number}")
        commits.append(git(work, "rev-parse", "HEAD"))
    git(work, "push", "-q", "origin", "main")
    git(work, "checkout", "-q", "-b", "feature", commits[2])
    git(work, "commit", "-q", "--allow-empty", "-m", "change")
    return work, commits


def test_the_merge_base_is_found_and_walked_back(history: tuple[Path, list[str]]) -> None:
    work, commits = history
    found = of(work, "HEAD", "main")
    assert found.merge_base == commits[2]
    assert found.commits == (commits[2], commits[1], commits[0])


def test_a_shallow_clone_says_so(history: tuple[Path, list[str]], tmp_path: Path) -> None:
    work, _ = history
    git(work, "push", "-q", "origin", "feature")
    remote = f"file://{tmp_path / 'remote.git'}"
    subprocess.run(
        ["git", "clone", "-q", "--depth=1", "--branch=feature", remote, str(tmp_path / "shallow")], check=True
    )
    found = of(tmp_path / "shallow", "HEAD", "main")
    assert found.merge_base == ""
    assert "shallow" in found.notice
    assert "fetch-depth" in found.notice


def stored(store: Store, commit: str, hour: int) -> None:
    append(store, replace(SESSION, commit=commit), "main", NOW.replace(hour=hour))


KEY = Key.of("acme/llm", "main", SESSION.fingerprint, SESSION.workload)


def test_the_nearest_measured_ancestor_is_the_baseline(store: Store) -> None:
    way = Ancestry("c" * 40, ("c" * 40, "b" * 40, "a" * 40))
    stored(store, "a" * 40, 1)
    stored(store, "b" * 40, 2)
    stored(store, "d" * 40, 3)
    chosen = choose(store, KEY, way)
    assert [session.commit[0] for session in chosen.sessions] == ["a", "b"]
    assert "1 commit(s) before the merge-base" in chosen.notice


def test_a_force_pushed_main_falls_back_to_the_newest(store: Store) -> None:
    stored(store, "d" * 40, 1)
    chosen = choose(store, KEY, Ancestry("c" * 40, ("c" * 40,)))
    assert [session.commit[0] for session in chosen.sessions] == ["d"]
    assert "force-pushed" in chosen.notice


def test_an_empty_store_says_which_key_is_missing(store: Store) -> None:
    assert SESSION.fingerprint.digest in choose(store, KEY, Ancestry("", ())).notice
