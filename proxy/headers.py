"""Which headers pass, and the heads written on both sides.

Pure: no I/O. Names are lower case everywhere; values are bytes as they came.
"""

from typing import Final

from proxy.address import Address

Headers = tuple[tuple[bytes, bytes], ...]

# RFC 9110, 7.6.1 (read 2026-11-30): they speak of one connection, never of the message.
HOP_BY_HOP = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade")
)
# Written by us, or the job's own idea of who pays: both are dropped from what it sends.
OURS = frozenset(
    (
        b"host",
        b"content-length",
        b"expect",
        b"accept-encoding",
        b"authorization",
        b"x-api-key",
        b"proxy-authorization",
        b"cookie",
        # Some gateways take these for the method and the path, which we have judged by the first line.
        b"x-http-method",
        b"x-http-method-override",
        b"x-method-override",
        b"x-original-url",
        b"x-rewrite-url",
    )
)
_UNSENT = HOP_BY_HOP | OURS


class RequestHead:
    """What a client's request says before its body."""

    def __init__(
        self,
        method: str,
        target: str,
        headers: Headers,
        *,
        is_keep_alive: bool,
        is_http_10: bool,
        is_upgrade: bool,
    ) -> None:
        self.method: Final = method
        self.target: Final = target
        """As sent, query string included."""
        self.path: Final = target.partition("?")[0]
        """The target without its query string."""
        self.headers: Final = headers
        self.is_keep_alive: Final = is_keep_alive
        self.is_http_10: Final = is_http_10
        self.is_upgrade: Final = is_upgrade

    def get(self, name: bytes) -> bytes | None:
        """The first value of this header; none where it is absent."""
        return find(self.headers, name)


class ResponseHead:
    """What an upstream's answer says before its body."""

    def __init__(
        self,
        status: int,
        headers: Headers,
    ) -> None:
        self.status: Final = status
        self.headers: Final = headers

    def get(self, name: bytes) -> bytes | None:
        """The first value of this header; none where it is absent."""
        return find(self.headers, name)

    @property
    def is_stream(self) -> bool:
        """Whether the body is server-sent events."""
        return (self.get(b"content-type") or b"").strip().lower().startswith(b"text/event-stream")


def find(headers: Headers, name: bytes) -> bytes | None:
    """The first value of a header; none where it is absent."""
    for key, value in headers:
        if key == name:
            return value
    return None


def end_to_end(
    head: RequestHead | ResponseHead, dropped: frozenset[bytes] = HOP_BY_HOP
) -> list[tuple[bytes, bytes]]:
    """The headers that speak of the message: no dropped name, none that `Connection` lists."""
    headers = head.headers
    if head.get(b"connection") is None:
        return [pair for pair in headers if pair[0] not in dropped]
    connection = b",".join([value for key, value in headers if key == b"connection"])
    named = {token.strip().lower() for token in connection.split(b",")}
    # Whoever lists it is wrong, and an answer that loses it would never end.
    named.discard(b"content-length")
    return [pair for pair in headers if pair[0] not in dropped and pair[0] not in named]


def request_bytes(head: RequestHead, body: bytes, address: Address, auth: tuple[bytes, bytes]) -> bytes:
    """The whole request for the upstream: the body as it came, our key instead of the job's."""
    lines = [
        b"%b %b%b HTTP/1.1" % (head.method.encode(), address.prefix, head.target.encode("latin-1")),
        b"host: " + address.host_header,
        *[b": ".join(pair) for pair in end_to_end(head, _UNSENT)],
        # Uncompressed, because usage has to be read on the way.
        b"accept-encoding: identity",
        b": ".join(auth),
        b"content-length: %d" % len(body),
        b"\r\n",
    ]
    return b"\r\n".join(lines) + body


def response_head_bytes(head: ResponseHead, reason: bytes, *, is_chunked: bool, is_last: bool) -> bytes:
    """The head for the client; `is_last` says that the connection closes after this answer."""
    lines = [b"HTTP/1.1 %d %b" % (head.status, reason)]
    lines += [b": ".join(pair) for pair in end_to_end(head)]
    if is_chunked:
        lines.append(b"transfer-encoding: chunked")
    if is_last:
        lines.append(b"connection: close")
    lines.append(b"\r\n")
    return b"\r\n".join(lines)
