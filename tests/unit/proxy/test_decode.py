"""The meter behind a compressed answer."""

import gzip
import zlib

import pytest

from proxy.buckets import Buckets
from proxy.decode import open_meter
from proxy.headers import ResponseHead
from proxy.protocols import anthropic
from support.proxykit import message_stream

STREAM = (b"content-type", b"text/event-stream; charset=utf-8")


@pytest.mark.parametrize(
    ("name", "pack"), [(b"gzip", gzip.compress), (b"deflate", zlib.compress), (b"identity", bytes)]
)
def test_case_21_packed_streams_are_metered(name: bytes, pack: object) -> None:
    assert callable(pack)
    packed = pack(message_stream())
    meter = open_meter(anthropic, "/v1/messages", ResponseHead(200, (STREAM, (b"content-encoding", name))))
    for start in range(0, len(packed), 11):
        meter.feed(packed[start : start + 11])
    assert meter.read().usage == Buckets(input_tokens=25, output_tokens=15)
    assert meter.read().is_whole


@pytest.mark.parametrize("name", [b"gzip", b"br"])
def test_what_cannot_be_unpacked_is_not_whole(name: bytes) -> None:
    meter = open_meter(anthropic, "/v1/messages", ResponseHead(200, (STREAM, (b"content-encoding", name))))
    meter.feed(b"\x00" * 100)
    meter.feed(message_stream()[:0])
    assert not meter.read().is_whole


def test_an_answer_that_unpacks_to_much_more_is_read_to_its_end() -> None:
    filler = b": " + b"x" * (3 << 20) + b"\n\n"
    meter = open_meter(anthropic, "/v1/messages", ResponseHead(200, (STREAM, (b"content-encoding", b"gzip"))))
    meter.feed(gzip.compress(filler + message_stream()))
    assert meter.read().is_whole
