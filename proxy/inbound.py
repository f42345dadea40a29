"""Requests out of a client's bytes, in any chunking.

Pure: no I/O. What cannot be a request becomes a fault, after which nothing more is read.
"""

from collections import deque
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import httptools

from proxy import refusals
from proxy.headers import RequestHead
from proxy.protocols.wire import Wire
from proxy.refusals import Refusal, refuse_head
from proxy.wellformed import fault_of

MAX_HEAD_BYTES = 64 * 1024
MAX_HEADERS = 256
MAX_BODY_BYTES = 64 * 1024 * 1024


class Request:
    """A request, whole; `refusal` where its head already decides, and then without its body."""

    def __init__(
        self,
        head: RequestHead,
        body: bytes,
        refusal: Refusal | None,
    ) -> None:
        self.head: Final = head
        self.body: Final = body
        self.refusal: Final = refusal


class RequestReader:
    """Order of calls: `feed` for each read, then take from `requests`, then look at `fault`."""

    def __init__(self, wire: Wire, invite: Callable[[], None]) -> None:
        """`invite` is called where a client waits for leave to send its body."""
        self.requests: deque[Request] = deque()
        """Whole ones, oldest first."""
        self.fault: Refusal | None = None
        """Why nothing after `requests` can be read."""
        self.is_midway = False
        """A request has begun and is not whole."""
        self.is_over = False
        """The client asked to leave HTTP: what follows is no request."""
        self.rest = b""
        """What came with that request and is none."""
        self.head: RequestHead | None = None
        """Of the request being read; none before it is whole."""
        self._wire = wire
        self._invite = invite
        self._parser = httptools.HttpRequestParser(self)
        self._read_bytes = 0
        """Of the request being read, as they came; those that came with the end of the one before are not."""
        self._reset()

    def _reset(self) -> None:
        """Forget the request before."""
        self.head = None
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._head_bytes = 0
        self._body = bytearray()
        self._body_bytes = 0
        self._refusal: Refusal | None = None

    def feed(self, data: bytes) -> None:
        """Take what one read brought."""
        if self.fault is not None or self.is_over:
            return
        self.is_midway = True
        self._read_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self.is_over = True
            self.rest = data[upgrade.args[0] :]
        except httptools.HttpParserError:
            self.give_up(
                refusals.malformed(
                    "The request is not well-formed HTTP/1.1: send it again on a new connection."
                )
            )
        # Counted here too: a header without an end never reaches `on_header`, what frames a body no callback.
        if self.head is None and self._read_bytes > MAX_HEAD_BYTES:
            self.give_up(_too_large_head())
        elif self._read_bytes > MAX_BODY_BYTES + 2 * MAX_HEAD_BYTES:
            self.give_up(_too_large_body())

    @property
    def held_bytes(self) -> int:
        """Of the body being read and of those that wait in `requests`."""
        return len(self._body) + sum(len(request.body) for request in self.requests)

    def give_up(self, fault: Refusal) -> None:
        """Read nothing more; the first reason stays."""
        if self.fault is None:
            self.fault = fault
        self._body.clear()

    # httptools' callbacks

    def on_message_begin(self) -> None:
        """A request begins."""
        if self.fault is None:
            self._reset()
        self.is_midway = True

    def on_url(self, url: bytes) -> None:
        """A piece of the target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header, name in lower case; what follows a chunked body belongs to no head and is dropped."""
        if self.head is None:
            self._headers.append((name.lower(), value))
            self._head_bytes += len(name) + len(value)

    def on_headers_complete(self) -> None:
        """The head is whole: refuse what it alone decides, invite the body of the rest."""
        if self.fault is not None:
            return
        version = self._parser.get_http_version()
        head = self.head = RequestHead(
            method=self._parser.get_method().decode("ascii"),
            target=self._url.decode("latin-1"),
            headers=tuple(self._headers),
            is_keep_alive=self._parser.should_keep_alive(),
            is_http_10=version == "1.0",
            is_upgrade=self._parser.should_upgrade(),
        )
        if (fault := self._fault_of(head, version)) is not None:
            self.give_up(fault)
            return
        self._refusal = refuse_head(self._wire, head)
        if (head.get(b"expect") or b"").lower() == b"100-continue":
            if self._refusal is None:
                self._invite()
            else:
                # The body will not be sent after this answer, so the connection cannot go on.
                self.give_up(self._refusal)

    def _fault_of(self, head: RequestHead, version: str) -> Refusal | None:
        """Why nothing may be read after this head; none where it may."""
        if len(self._url) + self._head_bytes > MAX_HEAD_BYTES or len(head.headers) > MAX_HEADERS:
            return _too_large_head()
        if (sentence := fault_of(head, version)) is not None:
            return refusals.malformed(sentence)
        # The parser has seen to it that this is a number.
        return _too_large_body() if int(head.get(b"content-length") or 0) > MAX_BODY_BYTES else None

    def on_body(self, body: bytes) -> None:
        """A piece of the body; nothing is kept of a refused one."""
        self._body_bytes += len(body)
        if self._body_bytes > MAX_BODY_BYTES:
            self.give_up(_too_large_body())
        elif self._refusal is None:
            self._body += body

    def on_message_complete(self) -> None:
        """A request is whole."""
        self.is_midway = False
        if self.fault is None and self.head is not None:
            self.requests.append(Request(self.head, bytes(self._body), self._refusal))
            self.head = None
        self._body = bytearray()
        self._read_bytes = 0


def _too_large_head() -> Refusal:
    """A head of absurd size."""
    return refusals.malformed(
        "The request's headers are larger than 64 KiB, or more than 256.",
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    )


def _too_large_body() -> Refusal:
    """A body of absurd size."""
    return refusals.malformed(
        "The request's body is larger than 64 MiB.", HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    )
