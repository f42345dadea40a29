"""Requests out of bytes."""

import pytest

from proxy.inbound import RequestReader
from proxy.protocols import anthropic

POST = b"POST /v1/messages?beta=true HTTP/1.1\r\nHost: x\r\nX-A: 1\r\nContent-Length: 5\r\n\r\nhello"


def reader_of(data: bytes, size: int) -> RequestReader:
    reader = RequestReader(anthropic, lambda: None)
    for start in range(0, len(data), size):
        reader.feed(data[start : start + size])
    return reader


def test_every_chunking_gives_the_same_requests() -> None:
    for size in range(1, 2 * len(POST) + 1):
        reader = reader_of(POST + POST, size)
        assert [request.body for request in reader.requests] == [b"hello", b"hello"]
        head = reader.requests[0].head
        assert (head.method, head.target, head.path) == ("POST", "/v1/messages?beta=true", "/v1/messages")
        assert head.headers == ((b"host", b"x"), (b"x-a", b"1"), (b"content-length", b"5"))
        assert (head.is_keep_alive, head.is_http_10, head.is_upgrade) == (True, False, False)
        assert reader.fault is None
        assert not reader.is_midway


def test_a_request_in_the_middle_shows() -> None:
    assert reader_of(POST[:-1], 10).is_midway
    assert not RequestReader(anthropic, lambda: None).is_midway


def test_nothing_is_kept_of_a_refused_body() -> None:
    (request,) = reader_of(POST.replace(b"/v1/messages", b"/elsewhere"), 7).requests
    assert request.refusal is not None
    assert request.body == b""


def test_after_a_fault_nothing_is_read() -> None:
    reader = reader_of(POST + b"nonsense\r\n\r\n" + POST, 9)
    assert len(reader.requests) == 1
    assert reader.fault is not None
    assert reader.fault.reason == "malformed"


@pytest.mark.parametrize(("path", "invited"), [(b"/v1/messages", 1), (b"/other", 0)])
def test_only_what_may_be_forwarded_is_invited(path: bytes, invited: int) -> None:
    invitations: list[int] = []
    reader = RequestReader(anthropic, lambda: invitations.append(1))
    reader.feed(b"POST %b HTTP/1.1\r\nhost: x\r\nexpect: 100-Continue\r\ncontent-length: 5\r\n\r\n" % path)
    assert len(invitations) == invited
    assert (reader.fault is None) is bool(invited)
