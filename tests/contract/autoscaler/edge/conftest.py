"""The real server on loopback, and a real browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from autoscaler_site import browser as chromium
from autoscaler_site.outside import Outside
from autoscaler_site.site import site, write

from shadow_autoscaler.edge.serve import Running


@pytest.fixture(name="outside")
def outside_fixture() -> Iterator[Outside]:
    """Cloud, forge and VMs."""
    outside = Outside()
    yield outside
    outside.close()


@pytest.fixture(name="server")
def server_fixture(tmp_path: Path, outside: Outside) -> Iterator[Running]:
    """The server."""
    with site(write(tmp_path), outside) as server:
        yield server


@pytest.fixture(name="browser")
def browser_fixture(tmp_path: Path) -> Iterator[chromium.Browser]:
    """A headless Chromium."""
    found = chromium.program()
    if found is None:
        pytest.skip("no Chromium on PATH: install the package chromium to test the page in a browser")
    browser = chromium.Browser(found, tmp_path / "profile")
    yield browser
    browser.close()
