"""Several sources at once, each in a thread of its own, as one stream.

Limits: a failure in one ends all; the threads are gone when the stream is closed.
"""

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import pairwise
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")
IsOver = Callable[[], bool]


def slices(items: Sequence[T], count: int) -> list[Sequence[T]]:
    """The items in `count` runs of nearly the same length; fewer where there are fewer items."""
    ends = [len(items) * n // count for n in range(count + 1)]
    return [items[begin:end] for begin, end in pairwise(ends) if end > begin]


def merge(sources: Sequence[Callable[[IsOver], Iterator[T]]]) -> Generator[T]:
    """Everything that the sources give, as it comes.

    Args:
        sources: Each is called in its thread with a question whether it shall end early.

    Raises:
        Exception: Whatever one of them raised.
    """
    stop = threading.Event()
    found: SimpleQueue[T | BaseException | None] = SimpleQueue()

    def work(source: Callable[[IsOver], Iterator[T]]) -> None:
        try:
            for item in source(stop.is_set):
                if stop.is_set():
                    return
                found.put(item)
        except BaseException as error:  # noqa: BLE001 - raised again where somebody can catch it
            found.put(error)
        finally:
            found.put(None)

    threads = [threading.Thread(target=work, args=(source,), daemon=True) for source in sources]
    for thread in threads:
        thread.start()
    try:
        going = len(threads)
        while going:
            item = found.get()
            if item is None:
                going -= 1
            elif isinstance(item, BaseException):
                raise item
            else:
                yield item
    finally:
        stop.set()
        for thread in threads:
            thread.join()
