"""What a kill -9 leaves behind: the next gate removes it, and never what belongs to somebody alive."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gate_sessions import B7, session
from shadow_perfgate import codec
from shadow_perfgate.baseline.sessions import entries
from shadow_perfgate.baseline.store import open_store
from shadow_perfgate.measure import orphans

COMMAND = (sys.executable, "-m", "shadow_perfgate")
CONFIG = """
[gate]
stored_runs = 0
looks = [6]
noisy_looks = [6]
[[workload]]
name = "w"
engine = "command"
[workload.command]
argv = ["sh", "bench.sh"]
"""
# With a pipe it tells its id and stays; the pipe is closed when the last process that holds it is gone.
BENCH = """
if [ -n "$PIPE" ]; then exec 3>"$PIPE"; echo $$ >&3; exec sleep 300; fi
echo '{"itl_median": 12.5}'
"""


@dataclass
class Place:
    """A repository with a gate, and a folder for its temporary files."""

    folder: Path
    scratch: Path
    pipe: Path

    def git(self, *arguments: str) -> str:
        identity = ("-c", "user.name=x", "-c", "user.email=x@localhost")
        argv = ["git", *identity, *arguments]
        return subprocess.run(argv, cwd=self.folder, check=True, capture_output=True, text=True).stdout

    def gate(self, **env: str) -> "subprocess.Popen[str]":
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("CI", "GIT", "GITHUB"))}
        return subprocess.Popen(
            [*COMMAND, "gate"],
            cwd=self.folder,
            env={**kept, "TMPDIR": str(self.scratch), **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def ended(self) -> tuple[int, str]:
        with self.gate() as job:
            output, _ = job.communicate(timeout=120)
        return job.returncode, output

    @property
    def left(self) -> list[Path]:
        return sorted(self.scratch.glob("perfgate-base-*"))

    @property
    def trees(self) -> int:
        return len(self.git("worktree", "list").splitlines())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path / "work", tmp_path / "scratch", tmp_path / "pipe")
    made.folder.mkdir()
    made.scratch.mkdir()
    os.mkfifo(made.pipe)
    (made.folder / "perfgate.toml").write_text(CONFIG, encoding="utf-8")
    (made.folder / "bench.sh").write_text(BENCH, encoding="utf-8")
    (made.folder / ".gitignore").write_text("perfgate-report/\n", encoding="utf-8")
    made.git("init", "-q", "-b", "main")
    made.git("add", ".")
    made.git("commit", "-q", "-m", "base")
    made.git("checkout", "-q", "-b", "feature")
    return made


@pytest.fixture
def measuring(place: Place) -> Iterator["subprocess.Popen[str]"]:
    """A gate in the middle of measuring base; when it is killed, what it measures ends with it."""
    with place.gate(PIPE=str(place.pipe)) as job, place.pipe.open(encoding="utf-8") as told:
        assert int(told.readline())
        yield job
        job.kill()
        assert told.read() == ""


def test_a_killed_gate_is_cleaned_up_after_by_the_next(
    place: Place, measuring: "subprocess.Popen[str]"
) -> None:
    place.git("worktree", "add", "-q", "--detach", str(place.folder.parent / "mine"))
    [alive] = place.left
    code, output = place.ended()
    assert code == 3
    assert "another measurement is running" in output
    assert place.left == [alive]
    assert (alive / "base" / "bench.sh").exists()
    assert place.trees == 3
    measuring.kill()
    measuring.wait()
    assert place.left == [alive]
    code, output = place.ended()
    assert code == 0, output
    assert not list(place.scratch.glob("perfgate-*"))
    assert place.trees == 2
    assert (place.folder.parent / "mine" / "bench.sh").exists()


def test_a_record_is_removed_when_the_temporary_folder_went_with_its_container(
    place: Place, measuring: "subprocess.Popen[str]"
) -> None:
    measuring.kill()
    measuring.wait()
    shutil.rmtree(place.left[0])
    code, output = place.ended()
    assert code == 0, output
    assert place.trees == 1


PRELOADED = """
[[workload]]
name = "w"
engine = "callable"
preload = ["json"]
[workload.callable]
load = "bench.py:load"
"""
STAYS = """
import os, time
def load():
    pipe = open(os.environ["PIPE"], "w")
    pipe.write("loading\\n")
    pipe.flush()
    time.sleep(300)
"""


def test_a_forked_run_ends_with_a_killed_gate(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "perfgate.toml").write_text(PRELOADED, encoding="utf-8")
    (tmp_path / "bench.py").write_text(STAYS, encoding="utf-8")
    env = {**os.environ, "PIPE": str(pipe), "TMPDIR": str(tmp_path)}
    argv = [*COMMAND, "run", "-n", "1"]
    with subprocess.Popen(argv, cwd=tmp_path, env=env) as job, pipe.open(encoding="utf-8") as told:
        assert told.readline() == "loading\n"
        job.kill()
        assert told.read() == ""


CHILDREN = """
if [ "$STAGE" = "$1" ]; then
    exec 3>"$PIPE"
    sleep 300 &
    setsid sleep 300 &
    echo started >&3
    exec sleep 300
fi
echo '{"itl_median": 12.5}'
"""


@pytest.mark.parametrize("stage", ["prepare", "bench"])
def test_children_of_what_a_killed_gate_ran_end_with_the_next_one(tmp_path: Path, stage: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    config = CONFIG.replace('"bench.sh"]', '"bench.sh", "bench"]')
    (tmp_path / "perfgate.toml").write_text(f'prepare = [["sh", "bench.sh", "prepare"]]\n{config}', "utf-8")
    (tmp_path / "bench.sh").write_text(CHILDREN, encoding="utf-8")
    env = {**os.environ, "PIPE": str(pipe), "TMPDIR": str(tmp_path)}
    argv = [*COMMAND, "run", "-n", "1"]
    with subprocess.Popen(argv, cwd=tmp_path, env={**env, "STAGE": stage}) as job, pipe.open("rb") as told:
        assert told.readline() == b"started\n"
        job.kill()
        job.wait()
        # Not ours, although its folder is one that a killed gate left.
        other = {**os.environ, orphans.MARK: str(tmp_path / "perfgate-other")}
        with subprocess.Popen(["sleep", "300"], env=other) as stranger:
            assert subprocess.run(argv, cwd=tmp_path, env=env, check=False).returncode == 0
            assert stranger.poll() is None
            stranger.kill()
        os.set_blocking(told.fileno(), False)
        # The pipe is at its end: no process holds it any more.
        assert os.read(told.fileno(), 1) == b""


WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from shadow_perfgate import codec
from shadow_perfgate.baseline.sessions import append
from shadow_perfgate.baseline.store import open_store
store = open_store(sys.argv[1], {}, Path())
session = codec.read(Path("session.json"))
while True:
    append(store, session, "main", datetime.now(UTC))
    print("stored", flush=True)
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=tmp_path, check=True)
    for number in range(4):
        given = session({"itl_median": [value + number / 100 for value in B7]})
        (tmp_path / f"{number}.json").write_text(codec.dumps(given), encoding="utf-8")
    shutil.copy(tmp_path / "0.json", tmp_path / "session.json")
    return tmp_path


@pytest.fixture(params=["folder:store", "git:data", "git:data with a remote"])
def url(request: pytest.FixtureRequest, repository: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    found, _, remote = str(request.param).partition(" ")
    if remote:
        bare = tmp_path_factory.mktemp("remote")
        subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)
        subprocess.run(["git", "remote", "add", "origin", str(bare)], cwd=repository, check=True)
    (repository / "perfgate.toml").write_text(f'[store]\nurl = "{found}"\n', encoding="utf-8")
    return found


def called(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, check=False)


def listed(folder: Path, url: str) -> list[str]:
    return [entry.name for entry in entries(open_store(url, {}, folder), "")]


def test_a_writer_killed_at_any_moment_leaves_a_store_that_works(repository: Path, url: str) -> None:
    argv = [sys.executable, "-c", WRITER, url]
    with subprocess.Popen(argv, cwd=repository, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        stored = [writer.stdout.readline() for _ in range(3)]
        writer.kill()
    assert stored == ["stored\n"] * 3
    before = listed(repository, url)
    assert len(before) >= 3
    added = called(repository, "baseline", "add", "1.json")
    assert added.returncode == 0, added.stderr
    assert set(listed(repository, url)) > set(before)
    compared = called(repository, "baseline", "compare", "session.json")
    assert compared.returncode == 0, compared.stdout + compared.stderr


def test_writers_at_the_same_time_lose_and_double_nothing(repository: Path, url: str) -> None:
    jobs = [
        subprocess.Popen(
            [*COMMAND, "baseline", "add", name, "3.json"], cwd=repository, stdout=subprocess.DEVNULL
        )
        for name in ("0.json", "1.json", "2.json")
    ]
    assert [job.wait(120) for job in jobs] == [0, 0, 0]
    assert len(listed(repository, url)) == 4
