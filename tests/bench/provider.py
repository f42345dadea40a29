"""The provider that a benchmark calls: one small message, or a paced stream whose events carry their times.

Limits: serves 127.0.0.1 only; reads just enough of a request to find its end; ends with its standard input.
"""

import asyncio
import os
import random
import sys
import time

EVENTS = 200
"""Text events of one stream."""
INTERVAL_S = 0.005
"""Between two events of a stream at the mean; each pause is drawn between half and one and a half of it."""
SEED = 1
_MODEL = b"claude-sonnet-4-5"
_USAGE = (
    b'"usage":{"input_tokens":25,"cache_read_input_tokens":1000,"output_tokens":12,"service_tier":"standard"}'
)
_BODY = (
    b'{"id":"msg_1","type":"message","role":"assistant","model":"%b",'
    b'"content":[{"type":"text","text":"%b"}],"stop_reason":"end_turn",%b}' % (_MODEL, b"word " * 40, _USAGE)
)
MESSAGE = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nrequest-id: req_1\r\n"
    b"content-length: %d\r\n\r\n%b" % (len(_BODY), _BODY)
)
_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
    b"request-id: req_1\r\n\r\n"
)
_BEGIN = (
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message",'
    b'"role":"assistant","model":"%b","content":[],%b}}\n\n' % (_MODEL, _USAGE)
)
_END = (
    b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},'
    b'"usage":{"output_tokens":400}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n'
)


def text_event(now_ns: int) -> bytes:
    """A piece of text that says when it was written."""
    return (
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
        b'"delta":{"type":"text_delta","text":"some words @%d@ and more"}}\n\n' % now_ns
    )


class Connection(asyncio.Protocol):
    """Answers one request after the other."""

    def __init__(self, pauses: random.Random) -> None:
        self._pauses = pauses
        self._transport: asyncio.Transport | None = None
        self._seen = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._seen = self._seen + data if self._seen else data
        head, end, body = self._seen.partition(b"\r\n\r\n")
        if not end or len(body) < _length(head):
            return
        self._seen = b""
        assert self._transport is not None
        if b'"stream":true' in body:
            self._transport.write(_STREAM_HEAD + _chunk(_BEGIN))
            self._plan(EVENTS)
        else:
            self._transport.write(MESSAGE)

    def _plan(self, left: int) -> None:
        """Pause before the next event."""
        pause_s = INTERVAL_S * self._pauses.uniform(0.5, 1.5)
        asyncio.get_running_loop().call_later(pause_s, self._go_on, left)

    def _go_on(self, left: int) -> None:
        """Write one event, or the stream's end."""
        assert self._transport is not None
        if self._transport.is_closing():
            return
        if left:
            self._transport.write(_chunk(text_event(time.monotonic_ns())))
            self._plan(left - 1)
        else:
            self._transport.write(_chunk(_END) + b"0\r\n\r\n")


def _length(head: bytes) -> int:
    """The body's bytes."""
    after = head.lower().partition(b"content-length:")[2]
    return int(after.partition(b"\r\n")[0] or 0)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def serve() -> None:
    """Print the port, then serve until standard input closes."""
    loop = asyncio.get_running_loop()
    over = loop.create_future()
    loop.add_reader(sys.stdin.fileno(), lambda: os.read(sys.stdin.fileno(), 1) or over.set_result(None))
    pauses = random.Random(SEED)
    server = await loop.create_server(lambda: Connection(pauses), "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201 - whoever started it reads it
    await over


if __name__ == "__main__":
    asyncio.run(serve())
