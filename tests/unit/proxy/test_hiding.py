"""The chunk that the client did not ask for."""

import pytest

from proxy import hiding
from proxy.hiding import UsageHider
from support.proxykit import CHAT_DONE, CHAT_USAGE, chat_stream, chunk


def through(data: bytes, size: int) -> bytes:
    hider = UsageHider()
    passed = [hider.feed(data[start : start + size]) for start in range(0, len(data), size)]
    return b"".join(passed) + hider.finish()


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_the_usage_alone_is_kept_back_in_any_chunking(end: bytes) -> None:
    data = chat_stream().replace(b"\n", end)
    expected = chat_stream(has_usage=False).replace(b"\n", end)
    for size in range(1, len(data) + 1):
        assert through(data, size) == expected


@pytest.mark.parametrize(
    "data",
    [
        chunk({"content": "x"}, usage=CHAT_USAGE),
        chunk(usage=None),
        chunk(usage={}),
        b'data: {"usage": oops\n\n',
        b'data: ["usage"]\n\n',
        b': "usage"\n\n',
        b"event: x\nid: 3\ndata: y\n\n",
        b"\n\n\n",
        CHAT_DONE,
        b"data: half an eve",
        b"\r",
        b"",
    ],
)
def test_everything_else_passes_byte_for_byte(data: bytes) -> None:
    for size in range(1, len(data) + 1):
        assert through(data, size) == data


def test_an_event_passes_as_soon_as_it_is_whole() -> None:
    hider = UsageHider()
    assert hider.feed(CHAT_DONE[:-1]) == b""
    assert hider.feed(CHAT_DONE[-1:]) == CHAT_DONE


def test_usage_that_the_stream_ends_with_is_kept_back_too() -> None:
    assert through(chunk(usage=CHAT_USAGE)[:-1], 7) == b""


def test_an_event_of_absurd_size_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hiding, "MAX_EVENT_BYTES", 100)
    hider = UsageHider()
    assert hider.feed(b"x" * 101) == b"x" * 101
    assert hider.feed(b"y") == b"y"
