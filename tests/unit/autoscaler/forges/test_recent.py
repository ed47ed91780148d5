"""A table with a limit."""

import threading

from shadow_autoscaler.adapters.recent import Recent


def test_the_oldest_entry_goes_and_a_renewed_one_stays() -> None:
    table = Recent[str, int](2)
    table.put("a", 1)
    table.put("b", 2)
    table.put("a", 3)
    assert table.put("c", 4) == 4
    assert table.copy() == {"a": 3, "c": 4}
    table.drop("a")
    table.drop("a")
    assert (table.get("a"), table.get("c")) == (None, 4)


def test_several_threads_may_fill_and_read_it() -> None:
    table = Recent[int, int](50)
    faults: list[Exception] = []

    def work(start: int) -> None:
        try:
            for number in range(start, start + 500):
                table.put(number, number)
                assert len(table.copy()) <= 50
        except (RuntimeError, KeyError, AssertionError) as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(1000 * number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert len(table.copy()) == 50
