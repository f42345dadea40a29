"""Requests out of bytes."""

import tracemalloc

import pytest
from hypothesis import given, settings

from proxy.address import parse_address
from proxy.headers import request_bytes
from proxy.inbound import MAX_HEAD_BYTES, RequestReader
from proxy.protocols import anthropic
from support.mutations import hostile_streams
from support.strict import take_request

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


@settings(max_examples=250, deadline=None)
@given(pieces=hostile_streams())
def test_whatever_is_read_as_a_request_is_one_request_when_it_is_written_again(pieces: list[bytes]) -> None:
    reader = RequestReader(anthropic, lambda: None)
    for piece in pieces:
        reader.feed(piece)
    for each in reader.requests:
        if each.refusal is None and each.head.method != "CONNECT":
            sent = request_bytes(
                each.head, each.body, parse_address("http://provider"), (b"x-api-key", b"real-key")
            )
            taken = take_request(sent)
            assert taken is not None
            got, rest = taken
            assert (got.body, rest) == (each.body, b"")


@given(pieces=hostile_streams())
def test_any_chunking_of_hostile_bytes_is_read_the_same_way(pieces: list[bytes]) -> None:
    whole, cut = reader_of(b"".join(pieces), 1 << 20), RequestReader(anthropic, lambda: None)
    for piece in pieces:
        cut.feed(piece)
    assert shown(cut) == shown(whole)
    assert cut.fault == whole.fault


def shown(reader: RequestReader) -> list[object]:
    """All that was read of each request."""
    heads = [(request.head, request) for request in reader.requests]
    return [
        (head.method, head.target, head.headers, head.is_keep_alive, each.body, each.refusal)
        for head, each in heads
    ]


def test_a_long_body_is_no_part_of_the_next_head() -> None:
    body = b"x" * 2 * MAX_HEAD_BYTES
    long = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    reader = RequestReader(anthropic, lambda: None)
    reader.feed(long + POST[:10])
    reader.feed(POST[10:])
    assert [len(request.body) for request in reader.requests] == [len(body), 5]
    assert reader.fault is None


def test_what_follows_a_chunked_body_is_no_header_and_is_not_kept() -> None:
    raw = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    trailers = b"X-A: 1\r\n" * 20_000
    reader = RequestReader(anthropic, lambda: None)
    tracemalloc.start()
    reader.feed(raw + trailers)
    kept_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept_bytes < len(trailers)
    reader.feed(b"\r\n" + POST)
    first, second = reader.requests
    assert [name for name, _ in first.head.headers] == [b"host", b"transfer-encoding"]
    assert [name for name, _ in second.head.headers] == [b"host", b"x-a", b"content-length"]
