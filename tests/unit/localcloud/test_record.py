"""What was made is on disk at once, and half a record is none."""

from localcloud.openstack import layout, snapshot
from localcloud.openstack.record import Record


def test_steps_are_kept_over_an_interruption() -> None:
    assert Record.load() is None
    record = Record("abc").done()
    record.done(schema=True, seed="s1")
    assert Record.load() == Record("abc", schema=True, seed="s1")


def test_a_broken_or_unknown_record_counts_as_none() -> None:
    Record("abc").done()
    for text in ("{", '{"fingerprint": "abc", "from-the-future": 1}'):
        Record.path().write_text(text)
        assert Record.load() is None


def test_a_snapshot_counts_only_when_complete_and_of_this_configuration() -> None:
    assert not snapshot.exists("abc")
    layout.snapshot().mkdir(parents=True)
    assert not snapshot.exists("abc")
    (layout.snapshot() / "fingerprint").write_text("abc")
    assert snapshot.exists("abc")
    assert not snapshot.exists("def")
