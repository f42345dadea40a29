"""Requests out of a client's bytes, in any chunking.

Pure: no I/O. What cannot be a request becomes a fault, after which nothing more is read.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

import httptools

from proxy import refusals
from proxy.headers import RequestHead
from proxy.protocols.wire import Wire
from proxy.refusals import Refusal, refuse_head

MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """A request, whole; `refusal` where its head already decides, and then without its body."""

    head: RequestHead
    body: bytes
    refusal: Refusal | None


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
        self._reset()

    def _reset(self) -> None:
        """Forget the request before."""
        self.head = None
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._head_bytes = 0
        self._refusal: Refusal | None = None

    def feed(self, data: bytes) -> None:
        """Take what one read brought."""
        if self.fault is not None or self.is_over:
            return
        self.is_midway = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self.is_over = True
            self.rest = data[upgrade.args[0] :]
        except httptools.HttpParserError:
            self._give_up(
                refusals.malformed(
                    "The request is not well-formed HTTP/1.1: send it again on a new connection."
                )
            )
        if self.head is None:
            # Counted here too, since a header without an end never reaches `on_header`.
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._give_up(_too_large_head())

    def _give_up(self, fault: Refusal) -> None:
        """Note why nothing more is read; the first reason stays."""
        if self.fault is None:
            self.fault = fault

    # httptools' callbacks

    def on_message_begin(self) -> None:
        """A request begins."""
        self._reset()
        self.is_midway = True

    def on_url(self, url: bytes) -> None:
        """A piece of the target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header, name in lower case."""
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """The head is whole: refuse what it alone decides, invite the body of the rest."""
        headers = tuple(self._headers)
        head = self.head = RequestHead(
            method=self._parser.get_method().decode("ascii"),
            target=self._url.decode("latin-1"),
            headers=headers,
            is_keep_alive=self._parser.should_keep_alive(),
            is_http_10=self._parser.get_http_version() == "1.0",
            is_upgrade=self._parser.should_upgrade(),
        )
        self._refusal = refuse_head(self._wire, head)
        if len(self._url) + sum(len(name) + len(value) for name, value in headers) > MAX_HEAD_BYTES:
            self._give_up(_too_large_head())
        elif (head.get(b"expect") or b"").lower() == b"100-continue":
            if self._refusal is None:
                self._invite()
            else:
                # The body will not be sent after this answer, so the connection cannot go on.
                self._give_up(self._refusal)

    def on_body(self, body: bytes) -> None:
        """A piece of the body; nothing is kept of a refused one."""
        self._body_bytes += len(body)
        if self._body_bytes > MAX_BODY_BYTES:
            self._body.clear()
            self._give_up(
                refusals.malformed(
                    "The request's body is larger than 64 MiB.", HTTPStatus.REQUEST_ENTITY_TOO_LARGE
                )
            )
        elif self._refusal is None:
            self._body.append(body)

    def on_message_complete(self) -> None:
        """A request is whole."""
        self.is_midway = False
        if self.fault is None and self.head is not None:
            self.requests.append(Request(self.head, b"".join(self._body), self._refusal))
        self._body = []


def _too_large_head() -> Refusal:
    """A head of absurd size."""
    return refusals.malformed(
        "The request's headers are larger than 64 KiB.", HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
    )
