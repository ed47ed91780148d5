"""A machine that fails midway: no space, no right to write, damaged or endless files, a wrong clock."""

import errno
import os
import resource
import subprocess
import sys
import tempfile
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gate_sessions import B7, SLOW7, session
from shadow_perfgate import codec, scratch
from shadow_perfgate.baseline import git
from shadow_perfgate.baseline.ancestry import Ancestry
from shadow_perfgate.baseline.choose import choose
from shadow_perfgate.baseline.folder import FolderStore
from shadow_perfgate.baseline.history import prunable
from shadow_perfgate.baseline.sessions import Key, append, entries, load
from shadow_perfgate.baseline.store import ExistsError
from shadow_perfgate.errors import InputError, MeasureError, StoreError
from shadow_perfgate.measure import checkout, launch, plan_input

COMMAND = (sys.executable, "-m", "shadow_perfgate")
WORKLOAD = '[[workload]]\nname = "w"\nengine = "command"\n[workload.command]\nargv = ["sh", "bench.sh"]\n'
SESSION = session({"itl_median": B7})
KEY = Key.of("", "main", SESSION.fingerprint, SESSION.workload)


def called(folder: Path, *arguments: str, bytes_most: int = 0, **env: str) -> tuple[int, str]:
    """Call the command line, which may write no file larger than `bytes_most`: a disk that is full."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_most, bytes_most))

    kept = {k: v for k, v in os.environ.items() if not k.startswith(("CI", "GIT", "GITHUB"))}
    ended = subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        env={**kept, "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **env},
        preexec_fn=limited if bytes_most else None,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended.returncode, " ".join((ended.stdout + ended.stderr).split())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "b.json").write_text(codec.dumps(SESSION), encoding="utf-8")
    (tmp_path / "slow.json").write_text(codec.dumps(session({"itl_median": SLOW7})), encoding="utf-8")
    return tmp_path


def test_a_full_disk_stores_nothing_and_says_so(folder: Path) -> None:
    code, said = called(folder, "baseline", "add", "b.json", bytes_most=100)
    assert code == 3
    assert "cannot be written (File too large)" in said
    assert not [path for path in (folder / ".perfgate").rglob("*") if path.is_file()]
    assert called(folder, "baseline", "add", "b.json")[0] == 0


def test_a_full_disk_leaves_earlier_reports_whole(folder: Path) -> None:
    assert called(folder, "compare", "b.json", "b.json", "--reports", "r")[0] == 0
    before = {path.name: path.read_bytes() for path in (folder / "r").iterdir()}
    code, said = called(folder, "compare", "b.json", "slow.json", "--reports", "r", bytes_most=1000)
    assert code == 2
    assert "FAIL: 1 of 1 gated metrics regressed" in said
    assert "r/decision.json: File too large; check the path, its rights and the space left" in said
    assert {path.name: path.read_bytes() for path in (folder / "r").iterdir()} == before


@pytest.mark.parametrize("url", ["folder:/proc/none", "folder:taken/store"])
def test_what_main_cannot_store_is_kept(folder: Path, url: str) -> None:
    (folder / "taken").write_text("a file", encoding="utf-8")
    (folder / "bench.sh").write_text("echo '{\"itl_median\": 12.5}'", encoding="utf-8")
    place = folder / "perfgate.toml"
    place.write_text(f'[store]\nurl = "{url}"\n{WORKLOAD}', encoding="utf-8")
    code, said = called(folder, "gate", "--record")
    assert code == 3
    assert "cannot be written" in said
    assert "`shadow-perfgate baseline add perfgate-report/sessions` adds them later" in said
    place.write_text(WORKLOAD, encoding="utf-8")
    assert called(folder, "baseline", "add", "perfgate-report/sessions")[0] == 0
    assert called(folder, "baseline", "list")[1].count(".json") == 1


def test_without_locks_nothing_is_taken_for_left_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("shadow_perfgate.scratch.fcntl.flock", refused)
    with scratch.folder("run") as first, scratch.folder("run"):
        assert first.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_session_stops_no_gate(folder: Path) -> None:
    store = FolderStore(folder / ".perfgate")
    for day in (1, 2, 3):
        append(store, SESSION, "main", datetime(2026, 11, day, tzinfo=UTC))
    broken = next((folder / ".perfgate").rglob("*.json"))
    broken.write_bytes(broken.read_bytes()[:40])
    with pytest.raises(StoreError, match=r"stored session is damaged: .*sessions/2026.*remove that file"):
        load(store, entries(store, KEY.prefix))
    code, said = called(folder, "baseline", "compare", "b.json")
    assert code == 3
    assert "is damaged" in said


@pytest.mark.parametrize("kind", ["compare", "import", "report"])
def test_files_without_end_are_refused_before_they_fill_the_memory(folder: Path, kind: str) -> None:
    huge = folder / "huge.json"
    with huge.open("wb") as file:
        file.truncate(codec.LARGEST + 1)
    arguments = {"compare": ["huge.json", "b.json"], "import": ["huge.json"], "report": ["huge.json"]}[kind]
    code, said = called(folder, kind, *arguments)
    assert code == 2
    assert "huge.json: is larger than 256 MiB" in said


def test_a_device_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "LARGEST", 3 << 20)
    with pytest.raises(InputError, match="/dev/zero: is larger than 3 MiB"):
        codec.read(Path("/dev/zero"))


def test_a_session_through_a_pipe_is_read(folder: Path) -> None:
    argv = f"{sys.executable} -m shadow_perfgate compare <(cat b.json) <(cat b.json)"
    ended = subprocess.run(["bash", "-c", argv], cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_an_engine_that_hangs_is_an_invalid_run_and_is_ended(folder: Path) -> None:
    hanging = WORKLOAD.replace("[workload.command]", "timeout_s = 1\n[workload.command]")
    (folder / "perfgate.toml").write_text(hanging, encoding="utf-8")
    (folder / "bench.sh").write_text("echo $$ > pid; echo loading >&2; exec sleep 300", encoding="utf-8")
    code, said = called(folder, "run", "-n", "1")
    assert code == 2
    assert "'sh' did not end within 1 s (timeout_s); raise the limit or make the workload smaller" in said
    assert "Last output: loading" in said
    assert not Path("/proc", (folder / "pid").read_text().strip()).exists()


def test_what_is_measured_gets_no_token_of_the_gate(folder: Path) -> None:
    (folder / "perfgate.toml").write_text(f'prepare = [["sh", "env.sh"]]\n{WORKLOAD}', encoding="utf-8")
    (folder / "env.sh").write_text("env > prepared", encoding="utf-8")
    (folder / "bench.sh").write_text("env > measured; echo '{\"itl_median\": 1}'", encoding="utf-8")
    tokens = {"GITHUB_TOKEN": "ghs_secret", "PERFGATE_GITLAB_TOKEN": "glpat-secret", "HF_TOKEN": "hf_kept"}
    assert called(folder, "run", "-n", "1", **tokens)[0] == 0
    for name in ("prepared", "measured"):
        text = (folder / name).read_text(encoding="utf-8")
        assert "secret" not in text
        assert "hf_kept" in text


def test_a_preloading_process_that_hangs_is_a_fault_of_the_workload(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (plan,) = plan_input.plans(tomllib.loads(WORKLOAD)["workload"], "perfgate.toml", tmp_path)
    monkeypatch.setattr(launch, "IMPORT_S", 0.01)
    with subprocess.Popen(
        ["sleep", "300"], bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        with pytest.raises(MeasureError, match="did not answer within 0 s; import fewer packages in preload"):
            launch.Fork(server).start(plan, tmp_path, tmp_path)
        server.kill()


def test_a_prepare_command_or_a_remote_that_hangs_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(checkout, "LONGEST_S", 0.01)
    monkeypatch.setattr(git, "LONGEST_S", 0.01)
    with pytest.raises(MeasureError, match=r"'sh -c sleep 300; true' in .* did not end within 0 s"):
        checkout.made_ready(tmp_path, [["sh", "-c", "sleep 300; true"]])
    fake = tmp_path / "git"
    fake.write_text("#!/bin/sh\nexec sleep 300\n", encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(StoreError, match="no answer within 0 s; is the remote reachable"):
        git.git(tmp_path, "fetch")


def test_a_prepare_command_cannot_wait_for_an_answer(tmp_path: Path) -> None:
    checkout.made_ready(tmp_path, [["sh", "-c", "! read answer"]])


@pytest.mark.parametrize("more", ["", ',"colour":"blue"'])
def test_a_stored_session_of_a_newer_program_says_so(folder: Path, more: str) -> None:
    store = FolderStore(folder / ".perfgate")
    append(store, SESSION, "main", datetime(2026, 11, 1, tzinfo=UTC))
    [place] = (folder / ".perfgate").rglob("*.json")
    text = place.read_text(encoding="utf-8")
    place.write_text(text.replace('"schema_version":1', f'"schema_version":2{more}'), encoding="utf-8")
    with pytest.raises(StoreError, match="schema_version: got 2, this program reads up to 1") as caught:
        load(store, entries(store, KEY.prefix))
    assert "remove" not in str(caught.value)


def test_a_shared_disk_without_links_keeps_names_taken_all_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("shadow_perfgate.baseline.folder.os.link", refused)
    monkeypatch.setattr("shadow_perfgate.baseline.folder.os.fchmod", refused)
    store = FolderStore(folder / "s")
    store.create({"a/1.json": b"one"})
    with pytest.raises(ExistsError):
        store.create({"a/1.json": b"other"})
    assert (folder / "s/a/1.json").read_bytes() == b"one"
    assert [path.name for path in (folder / "s/a").iterdir()] == ["1.json"]
    (folder / "s/a/2.json.claim").touch()
    with pytest.raises(ExistsError):
        store.create({"a/2.json": b"another writer is at it"})


def test_a_session_is_readable_by_all_from_its_first_moment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []
    link = os.link
    monkeypatch.setattr(
        "shadow_perfgate.baseline.folder.os.link",
        lambda old, new: (modes.append(Path(old).stat().st_mode & 0o777), link(old, new)),
    )
    FolderStore(folder / "s").create({"a/1.json": b"one"})
    assert modes == [0o644]


def test_what_a_killed_writer_left_is_removed_once_it_is_old(folder: Path) -> None:
    store = FolderStore(folder / "s")
    store.create({"a/1.json": b"one"})
    for name in ("old.part", "old.json.claim", "new.part"):
        (folder / "s/a" / name).touch()
        if name.startswith("old"):
            os.utime(folder / "s/a" / name, (0, 0))
    store.create({"a/2.json": b"two"})
    assert sorted(path.name for path in (folder / "s/a").iterdir()) == ["1.json", "2.json", "new.part"]


def test_a_store_that_is_a_file_is_not_an_empty_one(folder: Path) -> None:
    (folder / "s").write_text("a file", encoding="utf-8")
    for place in (folder / "s", folder / "s" / "below"):
        with pytest.raises(StoreError, match=r"cannot be listed \(Not a directory\)"):
            FolderStore(place).names("")


@pytest.mark.parametrize("year", [1970, 2001, 2999])
def test_a_wrong_clock_hides_no_session(folder: Path, year: int) -> None:
    store = FolderStore(folder / "s")
    now = datetime(year, 1, 1, tzinfo=UTC)
    append(store, session({"itl_median": B7}, commit="a" * 40), "main", now)
    found = entries(store, KEY.prefix)
    assert [entry.time for entry in found] == [now]
    assert choose(store, KEY, Ancestry("a" * 40, ("a" * 40,))).notice.startswith("baseline is the merge-base")
    assert prunable(found, datetime(1969, 1, 1, tzinfo=UTC), keep=10, days=1) == []


def test_a_file_whose_name_holds_no_date_is_none_of_ours(folder: Path) -> None:
    store = FolderStore(folder / "s")
    store.create({f"{KEY.prefix}20269999T999999Z-abcdef-0123.json": b"{}"})
    assert entries(store, KEY.prefix) == []
