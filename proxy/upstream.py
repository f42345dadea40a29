"""Connections to the provider: HTTP/1.1 over TCP or TLS, kept alive and used again.

Limits: knows nothing of money or of the client; the sink it is given gets every byte as it arrives.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import Protocol, cast

import httptools

from proxy.address import Address
from proxy.headers import ResponseHead

CONNECT_TIMEOUT_S = 20.0
MAX_HEAD_BYTES = 256 * 1024
_BODILESS = (204, 304)
_OK = 200
_FRAMING = frozenset((b"content-length", b"transfer-encoding"))
"""Headers that say where a body ends."""


class UpstreamLostError(Exception):
    """The connection ended before its answer did; the text names the cause."""

    def __init__(self, cause: str, *, had_answer: bool) -> None:
        super().__init__(cause)
        self.had_answer = had_answer
        """Whether any byte of an answer had come."""


class Sink(Protocol):
    """Who takes an answer."""

    def receive(self, head: ResponseHead | None, pieces: list[bytes], *, is_last: bool) -> None:
        """Take what one read brought: the head where it is in it, body pieces, and the end."""
        ...


class UpstreamConnection(asyncio.Protocol):
    """One connection; serves one `exchange` at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._sink: Sink | None = None
        self._answer: asyncio.Future[None] | None = None
        self.is_reused = False
        # One for all answers: a connection whose answer did not end where it should is not used again.
        self._parser = httptools.HttpResponseParser(self)
        self._begin()

    def _begin(self) -> None:
        """Forget the last answer."""
        self._headers: list[tuple[bytes, bytes]] = []
        self._head: ResponseHead | None = None
        self._pieces: list[bytes] = []
        self._has_bytes = False
        self._has_head = False
        self._head_bytes = 0
        self._is_done = False
        self._ends_at_eof = False
        self._is_keep_alive = False

    async def exchange(self, request: bytes, sink: Sink) -> None:
        """Send a request and feed its answer to the sink until it is over.

        Cancelled, it drops the connection: the provider then stops writing.

        Raises:
            UpstreamLostError: The connection ended, or what came was no HTTP.
        """
        if self._transport is None or self._transport.is_closing():
            raise UpstreamLostError("the connection was closed", had_answer=False)
        self._begin()
        self._sink = sink
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        try:
            await self._answer
        except BaseException:
            self._transport.abort()
            raise
        finally:
            self._sink = self._answer = None

    @property
    def is_usable(self) -> bool:
        """Whether another exchange may begin."""
        return self._is_keep_alive and self._transport is not None and not self._transport.is_closing()

    def pause(self) -> None:
        """Read no more until `resume`: the client is slower than the provider."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read again."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def close(self) -> None:
        """Drop the connection; may be called twice."""
        if self._transport is not None:
            self._transport.abort()

    # asyncio's callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        # Not asserted: a faster loop's transports are of no class of asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Parse, and pass on what this read brought at once."""
        if self._sink is None or self._is_done:
            # Bytes that no request asked for: what they answer could only be guessed.
            self.close()
            return
        self._has_bytes = True
        if not self._has_head:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserUpgrade, httptools.HttpParserError) as error:
            self._flush()
            has_switched = isinstance(error, httptools.HttpParserUpgrade)
            self._fail("it switched protocols" if has_switched else "its answer is not HTTP")
        else:
            self._flush()
            if not self._has_head and self._head_bytes > MAX_HEAD_BYTES:
                self._fail("the head of its answer is too large")

    def eof_received(self) -> bool:
        """An answer without a length ends here; any other is cut."""
        if self._ends_at_eof and not self._is_done and self._sink is not None:
            self._is_done = True
            self._flush()
        return False

    def connection_lost(self, error: Exception | None) -> None:
        """Whatever was still awaited is lost."""
        self._fail(f"the connection broke ({error})" if error else "the connection was closed")

    def _flush(self) -> None:
        """Hand over what this read brought, and end the exchange with the answer's end."""
        sink, head, pieces = self._sink, self._head, self._pieces
        self._head, self._pieces = None, []
        if sink is not None and (head is not None or pieces or self._is_done):
            sink.receive(head, pieces, is_last=self._is_done)
        if self._is_done and self._answer is not None and not self._answer.done():
            self._answer.set_result(None)

    def _fail(self, cause: str) -> None:
        """End the exchange as lost."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(UpstreamLostError(cause, had_answer=self._has_bytes))

    # httptools' callbacks

    def on_message_begin(self) -> None:
        """A second answer to one request: nobody asked for it, and the connection is not to be trusted."""
        if self._is_done:
            self._is_keep_alive = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header, name in lower case."""
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """The head is whole; a provisional one (1xx) is not for the client."""
        if self._is_done:
            return
        status = self._parser.get_status_code()
        headers, self._headers = tuple(self._headers), []
        if status < _OK:
            return
        self._has_head = True
        self._head = ResponseHead(status, headers)
        has_body = status not in _BODILESS
        self._ends_at_eof = has_body and _FRAMING.isdisjoint([name for name, _ in headers])
        self._is_keep_alive = self._parser.should_keep_alive() and not self._ends_at_eof

    def on_body(self, body: bytes) -> None:
        """A piece of the body, as cut by the provider or the network."""
        if not self._is_done:
            self._pieces.append(body)

    def on_message_complete(self) -> None:
        """The end, unless it was a provisional answer's."""
        self._is_done = self._has_head


class Upstream:
    """The provider's address with the connections that wait for their next use."""

    def __init__(
        self, address: Address, tls: Callable[[], ssl.SSLContext] = ssl.create_default_context
    ) -> None:
        """`tls` is called at the first TLS connection; the default honours SSL_CERT_FILE."""
        self.address = address
        self._make_tls = tls
        self._tls: ssl.SSLContext | None = None
        self._idle: list[UpstreamConnection] = []

    async def take(self, *, fresh: bool = False) -> UpstreamConnection:
        """A connection: the one used last, or a new one.

        Raises:
            OSError: It cannot be made; TLS errors and the time limit are OSErrors too.
        """
        while self._idle and not fresh:
            connection = self._idle.pop()
            if connection.is_usable:
                connection.is_reused = True
                return connection
        if self.address.is_tls and self._tls is None:
            self._tls = self._make_tls()
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            _, connection = await asyncio.get_running_loop().create_connection(
                UpstreamConnection, self.address.host, self.address.port, ssl=self._tls
            )
        return connection

    def give_back(self, connection: UpstreamConnection) -> None:
        """Keep a connection for later where it can serve again."""
        if connection.is_usable:
            self._idle.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        """Drop every waiting connection."""
        while self._idle:
            self._idle.pop().close()
