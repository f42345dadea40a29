"""Streams of requests that are almost right, for properties of what reads them."""

import orjson
from hypothesis import strategies as st

from support.proxykit import MODEL, chunked, json_answer, message_stream, request, stream_answer

_BODY = orjson.dumps({"model": MODEL, "max_tokens": 5, "stream": True})
REQUESTS = (
    request(),
    request(target="/v1/messages/count_tokens", extra=b"connection: x-api-key\r\n"),
    b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n" + chunked(_BODY, 20),
    request(extra=b"expect: 100-continue\r\n"),
    b"POST /v1/messages HTTP/1.0\r\nconnection: keep-alive\r\ncontent-length: %d\r\n\r\n" % len(_BODY)
    + _BODY,
    request(target="/v1/other"),
    b"HEAD / HTTP/1.1\r\nhost: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n",
    b"CONNECT evil.example.org:443 HTTP/1.1\r\nhost: x\r\n\r\n",
)
_NASTY = (
    *(b"\r", b"\n", b"\r\n", b"\r\n\r\n", b"\x00", b" ", b"\t", b":", b";", b",", b"0", b"9", b"\xff", b"#"),
    *(b"transfer-encoding: chunked\r\n", b"content-length: 5\r\n", b"Content-Length: 0\r\n", b"0\r\n\r\n"),
    *(b"connection: close\r\n", b"host: y\r\n", b" HTTP/1.1\r\n", b"x: \r\n y", b"upgrade: h2c\r\n", b"/../"),
)


ANSWERS = (
    stream_answer(message_stream()),
    json_answer({"model": MODEL, "usage": {"input_tokens": 1, "output_tokens": 2}}),
    json_answer({"type": "error", "error": {"type": "x"}}, b"529 Busy", b"retry-after: 3\r\n"),
    b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" + stream_answer(message_stream()),
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + message_stream(),
)


def _bend(draw: st.DrawFn, raw: bytes) -> bytes:
    """The same in all but a few places."""
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(raw)))
        end = min(len(raw), start + draw(st.integers(0, 12)))
        middle = draw(st.one_of(st.sampled_from(_NASTY), st.binary(max_size=3), st.just(raw[start:end] * 2)))
        raw = raw[:start] + middle + raw[end:]
    return raw


@st.composite
def hostile_streams(draw: st.DrawFn) -> list[bytes]:
    """Requests behind one another, bent in a few places, in pieces as reads may bring them."""
    raw = _bend(draw, b"".join(draw(st.lists(st.sampled_from(REQUESTS), min_size=1, max_size=4))))
    cuts = sorted(draw(st.lists(st.integers(0, len(raw)), max_size=4)))
    return [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]


@st.composite
def hostile_answers(draw: st.DrawFn) -> bytes:
    """An answer, sometimes two, bent in a few places."""
    return _bend(draw, b"".join(draw(st.lists(st.sampled_from(ANSWERS), min_size=1, max_size=2))))
