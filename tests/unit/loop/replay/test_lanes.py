import threading
import time
from collections.abc import Callable, Iterator

import pytest

from loop.replay.lanes import merge, slices


def test_slices_keep_the_order_and_leave_nothing_out() -> None:
    assert slices(range(7), 3) == [range(2), range(2, 4), range(4, 7)]
    assert slices(range(2), 3) == [range(1), range(1, 2)]


def test_everything_of_every_source_comes_in_its_order() -> None:
    found = list(merge([lambda _, n=n: iter([n, n + 1]) for n in (10, 20)]))

    assert sorted(found) == [10, 11, 20, 21]
    assert found.index(10) < found.index(11)


def test_a_failure_in_one_ends_the_others() -> None:
    ended = threading.Event()

    def fails(_: Callable[[], bool]) -> Iterator[int]:
        yield 1
        raise OSError("gone")

    def goes_on(is_over: Callable[[], bool]) -> Iterator[int]:
        while not is_over():
            time.sleep(0.01)
        ended.set()
        yield 2

    with pytest.raises(OSError, match="gone"):
        list(merge([fails, goes_on]))
    assert ended.is_set()


def test_closing_the_stream_leaves_no_thread() -> None:
    before = threading.active_count()

    def goes_on(is_over: Callable[[], bool]) -> Iterator[int]:
        while not is_over():
            yield 1

    stream = merge([goes_on, goes_on])
    assert next(stream) == 1
    stream.close()

    assert threading.active_count() == before
