"""The files of a job: its checkout, what earlier jobs left for it, its cache, and its artifacts."""

import gzip
import io
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from localcloud.standins._gitlab_runner_api import Coordinator
from localcloud.standins._gitlab_runner_docker import SystemFailure
from localcloud.standins._gitlab_runner_trace import RESET, YELLOW, Trace

Job = dict[str, Any]
SAFE = re.compile(r"[^\w.-]+")


def items(job: Job, key: str) -> list[Any]:
    """A list in the job, empty where it has none."""
    found: list[Any] = job.get(key) or []
    return found


def checkout(job: Job, folder: Path, trace: Trace, strategy: str = "fetch") -> None:
    """Fetch the job's commit and check it out; its credentials are never on a command line."""
    info = job["git_info"]
    if strategy == "none":
        trace.line("Skipping Git repository setup")
        return
    if strategy == "clone" or not (folder / ".git").is_dir():
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    trace.line(f"\x1b[32;1mFetching changes with git depth set to {info['depth']}...\x1b[0;m")
    fresh = not (folder / ".git").is_dir()
    _git(folder, "init", "--quiet")
    if fresh:
        trace.line(f"Initialized empty Git repository in /builds/{folder.name}/.git/")
    _write_remote(folder, info["repo_url"])
    depth = [f"--depth={info['depth']}"] if info["depth"] else []
    _git(folder, "fetch", "origin", "--quiet", "--prune", *depth, *info["refspecs"])
    trace.line(f"\x1b[32;1mChecking out {info['sha'][:8]} as detached HEAD (ref is {info['ref']})...\x1b[0;m")
    _git(folder, "checkout", "-f", "-q", info["sha"])
    _git(folder, "clean", "-ffdx", "-q")


def forget_remote(folder: Path) -> None:
    """Take the credentials out of the checkout after the job."""
    (folder / ".git" / "credentials.inc").unlink(missing_ok=True)


def _write_remote(folder: Path, url: str) -> None:
    include = folder / ".git" / "credentials.inc"
    descriptor = os.open(include, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(f'[remote "origin"]\n\turl = {url}\n')
    _git(folder, "config", "include.path", "credentials.inc")


def _git(folder: Path, *arguments: str) -> None:
    environment = {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    environment |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], env=os.environ | environment, capture_output=True, check=False
    )
    if done.returncode:
        text = done.stderr.decode(errors="replace").strip()
        raise SystemFailure(f"git {arguments[0]}: {text}")


def download_dependencies(job: Job, coordinator: Coordinator, folder: Path, trace: Trace) -> None:
    """Unpack the archives of the jobs before."""
    for item in items(job, "dependencies"):
        trace.line(f"\x1b[32;1mDownloading artifacts for {item['name']} ({item['id']})...\x1b[0;m")
        reply = coordinator.call("GET", f"/jobs/{item['id']}/artifacts", None, {"JOB-TOKEN": item["token"]})
        if reply.status != 200:
            raise SystemFailure(
                f"Downloading artifacts from coordinator... {reply.status} {reply.text[:200]}"
            )
        with zipfile.ZipFile(io.BytesIO(reply.content)) as archive:
            archive.extractall(folder)
        trace.line(
            f"Downloading artifacts from coordinator... ok        id={item['id']} responseStatus=200 OK"
        )


def upload_artifacts(
    job: Job, coordinator: Coordinator, folder: Path, trace: Trace, *, succeeded: bool
) -> None:
    """Upload the artifacts whose `when` fits the outcome."""
    for item in items(job, "artifacts"):
        when = item.get("when") or "on_success"
        if when != "always" and (when == "on_success") is not succeeded:
            continue
        trace.line("\x1b[32;1mUploading artifacts...\x1b[0;m")
        files = sorted(_matching(folder, item, trace))
        if not files:
            trace.line("\x1b[31;1mERROR: No files to upload\x1b[0;m")
            continue
        _upload(job, coordinator, folder, trace, item, files)


def _upload(
    job: Job, coordinator: Coordinator, folder: Path, trace: Trace, item: Job, files: list[str]
) -> None:
    kind, form = item.get("artifact_type") or "archive", item.get("artifact_format") or "zip"
    packed = folder.parent / f"{folder.name}.tmp" / _file_name(item, kind, form)
    packed.parent.mkdir(parents=True, exist_ok=True)
    _pack(packed, folder, files, form)
    fields = {"artifact_type": kind, "artifact_format": form, "expire_in": str(item.get("expire_in") or "")}
    reply = coordinator.upload(job["id"], job["token"], packed, fields)
    packed.unlink()
    size = f"id={job['id']} responseStatus={reply.status}"
    if reply.status == 201:
        trace.line(f'Uploading artifacts as "{kind}" to coordinator... 201 Created  {size}')
    else:
        raise SystemFailure(
            f'Uploading artifacts as "{kind}" to coordinator... {reply.status} {reply.text[:200]}'
        )


def _file_name(item: Job, kind: str, form: str) -> str:
    name = str(item.get("name") or ("artifacts" if kind == "archive" else kind))
    return f"{name}.{'zip' if form == 'zip' else 'gz'}" if form in {"zip", "gzip"} else name


def _pack(target: Path, folder: Path, files: list[str], form: str) -> None:
    if form == "zip":
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in files:
                archive.write(folder / name, name)
    elif form == "gzip":
        with gzip.open(target, "wb") as packed:
            for name in files:
                packed.write((folder / name).read_bytes())
    else:
        target.write_bytes((folder / files[0]).read_bytes())


def _matching(folder: Path, item: Job, trace: Trace) -> set[str]:
    found = set[str]()
    for pattern in items(item, "paths"):
        hits = set(_files(folder, str(pattern)))
        if hits:
            trace.line(f"{pattern}: found {len(hits)} matching artifact files and directories")
        else:
            where = f"/builds/{folder.name}"
            text = f"{pattern}: no matching files. Ensure that the artifact path is relative to the working "
            trace.line(f"{YELLOW}WARNING: {text}directory ({where}){RESET}")
        found |= hits
    for pattern in items(item, "exclude"):
        found -= set(_files(folder, str(pattern)))
    return found | (_untracked(folder) if item.get("untracked") else set())


def _files(folder: Path, pattern: str) -> Iterable[str]:
    pattern = pattern.removeprefix("./").rstrip("/")
    for path in folder.glob(pattern):
        inside = [path] if path.is_file() else [item for item in path.rglob("*") if item.is_file()]
        yield from (item.relative_to(folder).as_posix() for item in inside if ".git" not in item.parts)


def _untracked(folder: Path) -> set[str]:
    done = subprocess.run(
        ["git", "-C", str(folder), "-c", "safe.directory=*", "ls-files", "-o", "-z"],
        capture_output=True,
        check=False,
    )
    return {name for name in done.stdout.decode().split("\0") if name}


def restore_cache(job: Job, storage: Path, folder: Path, trace: Trace) -> None:
    """Unpack caches that are pulled."""
    for item in _caches(job):
        archive = _cache_file(job, storage, item)
        trace.line(f"\x1b[32;1mChecking cache for {item['key']}...\x1b[0;m")
        if item["policy"] == "push" or not archive.exists():
            trace.line("No URL provided, cache will not be downloaded from shared cache server. "
                       "Instead a local version of cache will be extracted.")  # fmt: skip
            continue
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(folder)
        trace.line("Successfully extracted cache")


def save_cache(job: Job, storage: Path, folder: Path, trace: Trace, *, succeeded: bool) -> None:
    """Pack caches that are pushed."""
    for item in _caches(job):
        when = item.get("when") or "on_success"
        if item["policy"] == "pull" or (when != "always" and (when == "on_success") is not succeeded):
            continue
        trace.line(f"\x1b[32;1mCreating cache {item['key']}...\x1b[0;m")
        archive = _cache_file(job, storage, item)
        archive.parent.mkdir(parents=True, exist_ok=True)
        _pack(archive, folder, sorted(_matching(folder, item, trace)), "zip")
        trace.line("Created cache")


def _caches(job: Job) -> list[Job]:
    return [{"key": "default", "policy": "pull-push"} | item for item in items(job, "cache")]


def _cache_file(job: Job, storage: Path, item: Job) -> Path:
    project = str(job["job_info"]["project_id"])
    return storage / "cache" / project / SAFE.sub("-", str(item["key"])) / "cache.zip"
