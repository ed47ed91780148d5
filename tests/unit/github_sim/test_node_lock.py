"""The npm lock file: pinned by hash, without the address of any registry."""

import json
from pathlib import Path

NODE = Path(__file__).parents[2] / "node"


def test_every_package_is_pinned_by_hash_and_none_by_address() -> None:
    text = (NODE / "package-lock.json").read_text()
    packages = json.loads(text)["packages"]
    assert all("integrity" in entry for name, entry in packages.items() if name)
    assert "://" not in text
    assert '"resolved"' not in text


def test_versions_are_exact() -> None:
    wanted = json.loads((NODE / "package.json").read_text())["dependencies"]
    assert all(version[0].isdigit() for version in wanted.values())
