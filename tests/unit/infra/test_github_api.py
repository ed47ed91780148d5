"""The address that the preflight asks is the one the provider will use."""

import pytest

from preflight.forges import github_api


@pytest.mark.parametrize(
    ("base_url", "api"),
    [
        ("", "https://api.github.com"),
        ("https://github.com/", "https://api.github.com"),
        ("https://api.github.com/", "https://api.github.com"),
        ("https://acme.ghe.com", "https://api.acme.ghe.com"),
        ("https://api.acme.ghe.com/", "https://api.acme.ghe.com"),
        ("https://github.acme.test", "https://github.acme.test/api/v3"),
        ("https://github.acme.test/api/v3/", "https://github.acme.test/api/v3"),
        ("http://127.0.0.1:8930/", "http://127.0.0.1:8930/api/v3"),
    ],
)
def test_every_spelling_that_the_provider_takes(base_url: str, api: str) -> None:
    assert github_api(base_url) == api
