"""The machine's side of the controller's protocol: status, hand-over of the configuration, reclaim notice.

Runs on the machine with what every cloud image has: Python 3.8 and its standard library.
"""

from __future__ import annotations

import http.client
import json
import math
import os
import ssl
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

_REFUSED = (404, 409, 410)
_TRIES_THAT_MATTER = 8
_UNREACHED = (OSError, http.client.HTTPException)
_SHORTEST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0


def _setting(name: str, default: str = "") -> str:
    return os.environ.get(f"SHADOW_{name}", default)


def _context() -> ssl.SSLContext | None:
    bundle = _setting("CALLBACK_CA")
    return ssl.create_default_context(cafile=bundle) if bundle else None


def _open(request: urllib.request.Request, timeout: float) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body; an answer with an error status is an answer too."""
    try:
        with urllib.request.urlopen(request, timeout=timeout, context=_context()) as answer:  # noqa: S310
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def _metadata(path: str) -> bytes | None:
    # The metadata service is on the link itself: a proxy can't reach it.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(_setting("METADATA_URL", "http://169.254.169.254") + path, timeout=5) as answer:
            return bytes(answer.read())
    except (OSError, ValueError):
        return None


def _meta_data() -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(_metadata("/openstack/latest/meta_data.json") or b"{}")
    except ValueError:
        return {}
    return found


def _server_id() -> str:
    """Return the instance's UUID, kept once known: the way to the metadata service may close."""
    kept = Path(_setting("ROOT") + "/run/shadow-runner/server-id")
    if kept.exists() and (known := kept.read_text().strip()):
        return known
    found = str(_meta_data().get("uuid", ""))
    if found:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(found)
    return found


def _call(verb: str, **body: object) -> tuple[int, dict[str, str], bytes]:
    # The address comes from the controller itself, which has checked it in its configuration.
    request = urllib.request.Request(  # noqa: S310
        f"{_setting('CALLBACK').rstrip('/')}/vm/v1/{_setting('VM')}/{verb}",
        data=json.dumps({"server_id": _server_id(), **body}).encode(),
        headers={"Authorization": f"Bearer {_setting('TICKET')}", "Content-Type": "application/json"},
        method="POST",
    )
    return _open(request, 60)


def _tell(verb: str, tries: int, **body: object) -> bool:
    """Call until the controller has taken it or refused it; False where it never answered."""
    pause = 1.0
    for attempt in range(tries):
        code = 0
        headers: dict[str, str] = {}
        with suppress(*_UNREACHED):
            code, headers, _ = _call(verb, **body)
        if 200 <= code < 300 or code in _REFUSED or code in {400, 401, 403, 413}:
            return 200 <= code < 300
        if attempt + 1 < tries:
            time.sleep(_pause(headers, pause))
            pause = min(pause * 2, 30)
    return False


def status(phase: str, state: str, reason: str) -> int:
    """Tell how far the boot is. Only what ends something is worth waiting for."""
    matters = state == "failed" or phase in {"healthy", "ended"}
    told = _tell(
        "status",
        _TRIES_THAT_MATTER if matters else 1,
        phase=phase,
        status=state,
        reason=reason,
        at=time.time(),
    )
    return 0 if told else 1


def config(target: str) -> int:
    """Write the configuration below `target`. 0: written, 3: no work for this machine, 4: time is up."""
    end = time.monotonic() + float(_setting("CONFIG_TIMEOUT_S", "600"))
    while time.monotonic() < end:
        try:
            code, headers, body = _call("config")
        except _UNREACHED as error:
            code, headers, body = 0, {}, str(error).encode()
        if code == 200:
            return _write(Path(target), body)
        if code in _REFUSED or code in {401, 403}:
            sys.stdout.write(body.decode(errors="replace")[:300])
            return 3
        time.sleep(_pause(headers, 5.0))
    sys.stdout.write("the controller gave no configuration in time")
    return 4


def _pause(headers: dict[str, str], own: float) -> float:
    """Return how long to wait: as a busy controller (202, 429, 503) says, `own` where it says nothing."""
    named = next((value for name, value in headers.items() if name.lower() == "retry-after"), "")
    try:
        wanted = float(named)
    except ValueError:
        return own
    if math.isnan(wanted):
        return own
    return min(max(wanted, _SHORTEST_PAUSE_S), _LONGEST_PAUSE_S)


def _write(target: Path, body: bytes) -> int:
    """Write each field of the answer to a file of its own, so that shells need no JSON."""
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, value in json.loads(body).items():
        file = target / name
        file.touch(mode=0o600)
        file.write_text(str(value))
    return 0


def _at(document: dict[str, Any], pointer: str) -> Any:
    """Return what a JSON pointer points to; None where there is nothing."""
    found: Any = document
    for part in pointer.strip("/").split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        try:
            found = found[name] if hasattr(found, "keys") else found[int(name)]
        except (KeyError, TypeError, IndexError, ValueError):
            return None
    return found


def _notice() -> str | None:
    """Return the reclaim notice as the metadata service words it; None while there is none."""
    document = _meta_data()
    for pointer in _setting("RECLAIM_POINTERS").split():
        if found := _at(document, pointer):
            return str(found)
    for path in _setting("RECLAIM_PATHS").split():
        if text := (_metadata(path) or b"").decode(errors="replace").strip():
            return text
    return None


def _seconds(notice: str) -> float | None:
    """Return the announced end in seconds since 1970; None for a notice that names no time."""
    with suppress(ValueError):
        return number if math.isfinite(number := float(notice)) else None
    try:
        at = datetime.fromisoformat(notice.replace("Z", "+00:00").replace("z", "+00:00"))
    except ValueError:
        return None
    return (at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp()  # noqa: UP017 - Python 3.8 has no UTC


def watch() -> int:
    """Look for a reclaim notice until there is one, then tell it until the controller has it."""
    interval = float(_setting("WATCH_INTERVAL_S", "5"))
    while True:
        found = _notice()
        if found and _tell("reclaim", 1000, at=_seconds(found)):
            return 0
        time.sleep(interval)


def main(words: list[str]) -> int:
    """Run one of status, config and watch."""
    if words[:1] == ["status"]:
        return status(*words[1:4])
    if words[:1] == ["config"]:
        return config(words[1])
    if words == ["watch"]:
        return watch()
    sys.stderr.write("usage: controller.py status PHASE STATUS REASON | config FOLDER | watch\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
