"""Follows a guest's boot: `boot.json` from what its process 1, bubblewrap and its console say."""

import json
import re
from typing import Any

from localcloud.guests import sandbox
from localcloud.guests.guest import Guest, read_json
from localcloud.world import write_private

_PHASE = re.compile(
    rb"shadow-runner: phase=(?P<phase>\S+) status=(?P<status>\S+)(?: reason=(?P<reason>[^\r\n]*))?"
)
_CHUNK = 2**20


class Reporter:
    """Reads the console from where it stopped; writes `boot.json` only where something has changed."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest
        self._offset = 0
        self._phase: dict[str, str] = {}
        self._written: dict[str, Any] = {}

    def update(self) -> None:
        """Bring `boot.json` up to date."""
        self._read_console()
        report = read_json(self._guest.root / "run/boot.json") or {"state": "starting"}
        report |= {"boots": self._guest.record().boots, **self._phase}
        report["running"] = self._guest.process() is not None
        ended = sandbox.reported(self._guest.status).get("exit-code")
        if not report["running"]:
            report["exit_code"] = ended
        if report != self._written:
            write_private(self._guest.folder / "boot.json", json.dumps(report, indent=1))
            self._written = report

    def _read_console(self) -> None:
        try:
            with self._guest.console.open("rb") as console:
                console.seek(self._offset)
                text = console.read(_CHUNK)
        except FileNotFoundError:
            return
        whole, newline, _ = text.rpartition(b"\n")
        self._offset += len(whole) + len(newline) if newline else (len(text) if len(text) == _CHUNK else 0)
        for found in _PHASE.finditer(whole):
            self._phase = {
                name: (value or b"").decode(errors="replace") for name, value in found.groupdict().items()
            }
