"""Official downloads and the Go toolchain: taken when whole and vouched for, refused otherwise."""

import hashlib
import io
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
TOOLCHAIN = "v0.0.1-go{}.{}-{}".format(gotoolchain.PINNED, *platform_names())


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bytes]]:
    """Serve the paths of a dictionary on loopback, as both the download site and the module proxy."""
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
        monkeypatch.setenv("GOPROXY", f"{address}/proxy,direct")
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


def _toolchain(version: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as content:
        prefix = f"golang.org/toolchain@{TOOLCHAIN}"
        content.writestr(f"{prefix}/bin/go", f"#!/bin/sh\necho {version}\n")
        content.writestr(f"{prefix}/src/os/os.go", "package os\n")
        content.writestr(f"{prefix}/../../../../escaped", "no")
    return buffer.getvalue()


@pytest.fixture
def no_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("SHADOW_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "/nowhere")
    return tmp_path


def test_go_comes_from_the_module_proxy_where_there_is_none(
    served: dict[str, bytes], no_go: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = served[f"/proxy/golang.org/toolchain/@v/{TOOLCHAIN}.zip"] = _toolchain("go1.26.8")
    pins = {platform_names(): hashlib.sha256(archive).hexdigest()}
    monkeypatch.setattr(gotoolchain, "TOOLCHAIN_SHA256", pins)
    said: list[str] = []
    go = gotoolchain.find_go(said.append)
    assert gotoolchain.version_of(go) == (1, 26, 8)
    assert "Go is not on PATH; fetching Go" in said[0]
    assert not list(no_go.rglob("escaped"))
    served.clear()
    assert gotoolchain.find_go(said.append) == go


def test_a_toolchain_with_another_checksum_is_refused(served: dict[str, bytes], no_go: Path) -> None:
    served[f"/proxy/golang.org/toolchain/@v/{TOOLCHAIN}.zip"] = _toolchain("go1.26.8")
    with pytest.raises(EngineError, match=r"SHA-256 .*; expected "):
        gotoolchain.find_go(lambda _: None)
    assert not (no_go / "cache" / f"go-{gotoolchain.PINNED}").exists()


@pytest.mark.usefixtures("no_go")
def test_a_goproxy_that_names_no_proxy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOPROXY", "off")
    with pytest.raises(EngineError, match="GOPROXY=off names no proxy"):
        gotoolchain.find_go(lambda _: None)
