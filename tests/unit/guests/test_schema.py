"""User-data checked by the real cloud-init."""

import pytest

from localcloud.guests import cloud_init, schema
from localcloud.guests.cloud_init import CloudInitError


@pytest.fixture(scope="module", autouse=True)
def fetched() -> None:
    try:
        cloud_init.fetch()
    except CloudInitError as error:
        pytest.skip(str(error))


def test_a_valid_document_has_no_faults() -> None:
    assert schema.validate("#cloud-config\nruncmd:\n- [bash, /opt/boot.sh]\n") == []


@pytest.mark.parametrize(
    ("document", "places"),
    [
        ("#cloud-config\nruncmd: 5\nwrite_files: [{path: 3}]\n", ["runcmd: 5", "write_files.0.path: 3"]),
        ("#cloud-config\nwrite_files:\n- {path: /x, bogus: 1}\n", ["write_files.0: Additional properties"]),
        ("just text", ["format-l1.c1"]),
        ("", ["format-l1.c1"]),
        ("#cloud-config\n: [\n", ["format-l2.c1"]),
    ],
)
def test_each_fault_is_named_with_its_place(document: str, places: list[str]) -> None:
    faults = schema.validate(document)
    assert len(faults) == len(places), faults
    for fault, place in zip(faults, places, strict=True):
        assert fault.startswith(place), faults
