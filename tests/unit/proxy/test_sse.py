"""Events out of bytes."""

import pytest

from proxy import sse
from proxy.sse import EventReader


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_every_chunking_gives_the_same_events(end: bytes) -> None:
    stream = end.join((b"event: a", b"data: 1", b"", b": note", b"data:2", b"data: 3", b"", b""))
    for size in range(1, len(stream) + 1):
        reader = EventReader()
        events = []
        for start in range(0, len(stream), size):
            events += reader.feed(stream[start : start + size])
        assert events == [b"1", b"2\n3"]


def test_lone_carriage_returns_end_lines_too() -> None:
    reader = EventReader()
    assert reader.feed(b"data: 1\r\rdata: 2\r\r") + reader.feed(b"x") == [b"1", b"2"]


def test_half_an_event_is_none() -> None:
    assert EventReader().feed(b"data: 1\n") == []


def test_an_event_of_absurd_size_ends_the_reading() -> None:
    reader = EventReader()
    reader.feed(b"data: ")
    for _ in range(sse.MAX_EVENT_BYTES // (1 << 20) + 1):
        reader.feed(b"x" * (1 << 20))
    assert reader.is_overrun
    assert reader.feed(b"\n\ndata: 1\n\n") == []
