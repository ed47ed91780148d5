"""What holds for all tests: those that share the local cloud run one after another."""

import pytest


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the contract tests of the shared cloud in one process: some of them break and mend it."""
    for item in items:
        if item.get_closest_marker("localcloud") and "contract" in item.path.parts:
            item.add_marker(pytest.mark.xdist_group("localcloud"))
