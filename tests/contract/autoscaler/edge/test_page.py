"""The status page in a real browser."""

from pathlib import Path
from typing import Any

import pytest
from autoscaler_site.browser import Browser
from autoscaler_site.outside import STATUS, Outside

from shadow_autoscaler.edge.serve import Running

SIGN_IN = "document.getElementById('token').value = {token!r}; document.querySelector('form').submit()"


def signed_in(browser: Browser, outside: Outside) -> None:
    """Sign in and wait for the page."""
    browser.open(f"{outside.url}/")
    assert browser.value("location.pathname") == "/login"
    browser.value(SIGN_IN.format(token=STATUS))
    browser.until("document.querySelector('.tiles')")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_shows_jobs_vms_and_why_and_refreshes_by_itself(
    server: Running, outside: Outside, browser: Browser, tmp_path: Path, scheme: str
) -> None:
    outside.guests = False
    browser.scheme(scheme)
    signed_in(browser, outside)
    assert "No job waits or runs" in browser.value("document.body.innerText")
    outside.queue(5001)
    outside.queue(5002, labels=("self-hosted", "h100"))
    browser.until("document.body.innerText.includes('lacks h100')")
    browser.until("document.body.innerText.includes('a VM is on its way')")
    assert browser.value("document.querySelectorAll('.bar i').length > 0")
    assert browser.value("document.querySelector('.bar i').style.width") == "33.33%"
    assert browser.console == []
    browser.picture(tmp_path / "page.png")
    assert contrast(browser) > 7


def contrast(browser: Browser) -> Any:
    """Return the contrast of text on the page, as WCAG computes it."""
    return browser.value("""(() => {
      const lum = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number).map((v) => v / 255)
        .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
      const style = getComputedStyle(document.body);
      const [a, b] = [lum(style.color), lum(style.backgroundColor)].sort((x, y) => y - x);
      return (a + 0.05) / (b + 0.05); })()""")


def test_what_the_reader_opened_stays_open(server: Running, outside: Outside, browser: Browser) -> None:
    key = outside.queue(5001)
    outside.until(lambda: outside.done(key) and outside.empty())
    signed_in(browser, outside)
    browser.until("document.querySelector('details[data-key=done]')")
    browser.value("document.querySelector('details[data-key=done]').open = true")
    outside.guests = False
    outside.queue(5002)
    browser.until("document.querySelectorAll('.state.queued').length === 1")
    assert browser.value("document.querySelector('details[data-key=done]').open")


def test_nothing_from_a_forge_becomes_markup(server: Running, outside: Outside, browser: Browser) -> None:
    outside.guests = False
    with outside.lock:
        key = outside.queue(5001)
        facts = outside.github._jobs[key]
    evil = '<img src=x onerror="document.title=1">'
    outside.github._jobs[key] = facts.__class__(
        **{name: getattr(facts, name) for name in facts.__slots__}
        | {"name": evil, "url": "javascript:alert(1)"}
    )
    signed_in(browser, outside)
    browser.until("document.body.innerText.includes('onerror')")
    assert browser.value("document.images.length") == 0
    assert browser.value("document.querySelectorAll('a[href^=javascript]').length") == 0


def test_a_lost_connection_is_told_and_found_again(
    server: Running, outside: Outside, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_in(browser, outside)
    browser._call(
        "Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0
    )
    browser.until("document.querySelector('.freshness.stale')")
    browser._call(
        "Network.emulateNetworkConditions",
        offline=False,
        latency=0,
        downloadThroughput=-1,
        uploadThroughput=-1,
    )
    browser.until("!document.querySelector('.freshness.stale')")


def test_it_fits_a_phone(server: Running, outside: Outside, browser: Browser) -> None:
    browser.size(390, 844)
    signed_in(browser, outside)
    assert browser.value("document.documentElement.scrollWidth <= innerWidth")


def test_a_wrong_token_and_a_forged_session_open_nothing(
    server: Running, outside: Outside, browser: Browser
) -> None:
    browser.open(f"{outside.url}/")
    browser.value(SIGN_IN.format(token="wrong"))
    browser.until("document.body.innerText.includes('not the status token')")
    for forged in ("9999999999.00", "9999999999", "x.y", "9999999999." + "0" * 64, "9" * 5000 + ".00"):
        cookies = {"shadow_autoscaler_session": forged}
        answer = outside.http.get(
            f"{outside.url}/status.json", headers={"Cookie": f"{next(iter(cookies))}={forged}"}
        )
        assert answer.status_code == 401


def test_the_same_facts_as_json_for_a_bearer(server: Running, outside: Outside) -> None:
    answer = outside.http.get(f"{outside.url}/status.json", headers={"Authorization": f"Bearer {STATUS}"})
    assert answer.json()["pools"][0]["name"] == "rtx2000"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
