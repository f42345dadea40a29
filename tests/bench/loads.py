"""The loads of a benchmark: calls one after the other, calls on many connections, many paced streams.

Limits: one thread over raw sockets, so that the measuring costs little; bounded in count and in time.
"""

import re
import selectors
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

Address = str | tuple[str, int]
"""A Unix socket's path, or host and port."""

TIMEOUT_S = 10.0
_STAMP = re.compile(rb"@(\d+)@")
_LONGEST_STAMP = 32
_LAST_CHUNK = b"0\r\n\r\n"
_READ_BYTES = 1 << 18


class LoadError(Exception):
    """What came is not what was asked for; the text is one sentence."""


def call(*, is_stream: bool, key: str = "bench") -> bytes:
    """A small Messages call with the headers that an agent sends."""
    stream = b"true" if is_stream else b"false"
    body = (
        b'{"model":"claude-sonnet-4-5","max_tokens":1024,"stream":%b,"system":"Be brief.",'
        b'"messages":[{"role":"user","content":"%b"}]}' % (stream, b"Say a word. " * 80)
    )
    head = (
        f"POST /v1/messages?beta=true HTTP/1.1\r\nhost: localhost\r\naccept: application/json\r\n"
        f"content-type: application/json\r\nuser-agent: bench/1\r\nanthropic-version: 2023-06-01\r\n"
        f"x-api-key: {key}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def connect(address: Address) -> socket.socket:
    """An open connection."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    sock = socket.socket(family)
    sock.settimeout(TIMEOUT_S)
    sock.connect(address)
    if family == socket.AF_INET:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def is_whole(answer: bytes) -> bool:
    """Whether an answer with a length is complete.

    Raises:
        LoadError: It is no success.
    """
    if not answer.startswith(b"HTTP/1.1 %d" % HTTPStatus.OK):
        raise LoadError(f"an answer was no success: {answer[:300]!r}")
    head, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        return False
    length = head.lower().partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0]
    if not length:
        raise LoadError(f"an answer has no length: {head[:300]!r}")
    return len(body) >= int(length)


def ask(sock: socket.socket, request: bytes) -> None:
    """One call, from its first byte to its answer's last.

    Raises:
        LoadError: The answer is no success, or was cut.
        OSError: The connection broke, or nothing came in time.
    """
    sock.sendall(request)
    answer = b""
    while not (answer and is_whole(answer)):
        more = sock.recv(_READ_BYTES)
        if not more:
            raise LoadError("a connection was closed in the middle of an answer")
        answer += more


def latencies_us(address: Address, request: bytes, count: int) -> list[float]:
    """How long each of `count` calls takes, one after the other on a warm connection; microseconds."""
    with connect(address) as sock:
        for _ in range(max(3, count // 20)):
            ask(sock, request)
        taken = []
        for _ in range(count):
            begun = time.perf_counter_ns()
            ask(sock, request)
            taken.append((time.perf_counter_ns() - begun) / 1000)
    return taken


def requests_per_s(address: Address, request: bytes, connections: int, window_s: float) -> float:
    """Calls answered a second, each connection asking again as soon as it has its answer."""
    done = 0
    with _all_connected(address, connections) as chosen:
        partial: dict[int, bytes] = {}
        for key in chosen.get_map().values():
            _socket_of(key).sendall(request)
        begun = time.perf_counter()
        while (passed := time.perf_counter() - begun) < window_s:
            for key, _ in chosen.select(window_s):
                data = _read(key)
                if key.fd in partial:
                    data = partial.pop(key.fd) + data
                if is_whole(data):
                    done += 1
                    _socket_of(key).sendall(request)
                else:
                    partial[key.fd] = data
    return done / passed


def event_lags_us(address: Address, request: bytes, streams: int) -> list[float]:
    """From an event's writing to its arrival, over streams that run side by side; microseconds."""
    lags: list[float] = []
    with _all_connected(address, streams) as chosen:
        for key in chosen.get_map().values():
            _socket_of(key).sendall(request)
        rests = {key.fd: b"" for key in chosen.get_map().values()}
        end_s = time.monotonic() + TIMEOUT_S
        while rests:
            if time.monotonic() > end_s:
                raise LoadError("the streams did not end in time")
            for key, _ in chosen.select(TIMEOUT_S):
                data = _read(key)
                now_ns = time.monotonic_ns()
                seen = rests[key.fd] + data
                last = 0
                for stamp in _STAMP.finditer(seen):
                    lags.append((now_ns - int(stamp[1])) / 1000)
                    last = stamp.end()
                rests[key.fd] = seen[max(last, len(seen) - _LONGEST_STAMP) :]
                if seen.endswith(_LAST_CHUNK):
                    chosen.unregister(key.fileobj)
                    _socket_of(key).close()
                    del rests[key.fd]
    return lags


def _socket_of(key: selectors.SelectorKey) -> socket.socket:
    assert isinstance(key.fileobj, socket.socket)
    return key.fileobj


def _read(key: selectors.SelectorKey) -> bytes:
    data = _socket_of(key).recv(_READ_BYTES)
    if not data:
        raise LoadError("a connection was closed in the middle of an answer")
    return data


@contextmanager
def _all_connected(address: Address, count: int) -> Iterator[selectors.BaseSelector]:
    """Connections by the number, ready to be waited for."""
    with selectors.DefaultSelector() as chosen:
        try:
            for _ in range(count):
                chosen.register(connect(address), selectors.EVENT_READ)
            yield chosen
        finally:
            for key in list(chosen.get_map().values()):
                _socket_of(key).close()
