"""One connection of a job's agent: HTTP/1.1 in, one request at a time.

Limits: knows nothing of money; a request goes to the desk whole, an answer comes from a relay.
"""

import asyncio
from collections.abc import Coroutine
from http import HTTPStatus
from typing import cast

from proxy import refusals
from proxy.egress import EgressDeniedError
from proxy.inbound import Request, RequestReader
from proxy.refusals import Refusal
from proxy.relay import House, Relay
from proxy.tunnel import Tunnel

MAX_CONNECTIONS = 256
"""At once, tunnels too; further ones are dropped, so that a job cannot use up the files that we may open."""
MAX_HELD_BYTES = 96 * 1024 * 1024
"""Of the bodies of all requests at once: on its way out each is held several times over."""
MAX_EARLY_BYTES = 1024 * 1024
REQUEST_TIMEOUT_S = 60.0
LINGER_S = 2.0


class ClientConnection(asyncio.Protocol):
    """Answers refusals, and starts a relay for each call admitted."""

    def __init__(
        self,
        house: House,
        connections: set["ClientConnection"],
        request_timeout_s: float = REQUEST_TIMEOUT_S,
    ) -> None:
        """`connections` holds this one while it is open; a request must come whole in the time given."""
        self._house = house
        self._request_timeout_s = request_timeout_s
        self._connections = connections
        self._reader = RequestReader(house.wire, lambda: self.write(b"HTTP/1.1 100 Continue\r\n\r\n"))
        self._transport: asyncio.Transport | None = None
        self._early = bytearray()
        self._relay: Relay | None = None
        self._tunnel: Tunnel | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._body_bytes = 0
        """Of the running call."""
        self._is_closing = False
        self._is_full = False
        """The client has not read its answers: until then further ones would only pile up."""

    @property
    def task(self) -> asyncio.Task[None] | None:
        """The running call, or a tunnel's making; none between calls."""
        return self._task

    @property
    def held_bytes(self) -> int:
        """Of the bodies of its requests."""
        return self._body_bytes + self._reader.held_bytes

    # asyncio's callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        # Not asserted: a faster loop's transports are of no class of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        if len(self._connections) >= MAX_CONNECTIONS:
            self.cut()
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        """Read requests, unless a call is running: then only keep, so that a leaving client is noticed."""
        if self._is_closing:
            return
        if self._tunnel is not None:
            self._tunnel.send(data)
            return
        if self._task is None:
            self._read(data)
            self._proceed()
            if self._is_full and self._task is None:
                self.pause_reading()
            return
        self._early += data
        if len(self._early) > MAX_EARLY_BYTES:
            self.cut()

    def eof_received(self) -> bool:
        """The client has left, or will send no more: both end what runs for it, but for a tunnel."""
        if self._tunnel is None:
            return False
        self._tunnel.end()
        return True

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """The client has left: its call is cancelled, which drops the upstream and books it."""
        self._is_closing = True
        self._connections.discard(self)
        self._set_timer(None)
        if self._task is not None:
            self._task.cancel()
        if self._tunnel is not None:
            self._tunnel.cut()

    def pause_writing(self) -> None:
        """The client reads slowly."""
        self._is_full = True
        for ahead in (self._relay, self._tunnel):
            if ahead is not None:
                ahead.pause()

    def resume_writing(self) -> None:
        """The client reads again."""
        self._is_full = False
        ahead = self._relay or self._tunnel
        if ahead is None:
            self.resume_reading()
            self._proceed()
        else:
            ahead.resume()

    # what a relay or a tunnel calls

    def write(self, data: bytes) -> None:
        """Send bytes on at once."""
        if not self._is_gone():
            assert self._transport is not None
            self._transport.write(data)

    def close_after(self) -> None:
        """Close once everything written has left."""
        self._is_closing = True
        if self._transport is not None:
            self._transport.close()

    def pause_reading(self) -> None:
        """Take nothing more for now: the host of a tunnel is slow."""
        if not self._is_gone():
            assert self._transport is not None
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Take bytes again."""
        if not self._is_gone():
            assert self._transport is not None
            self._transport.resume_reading()

    def cut(self) -> None:
        """Drop the connection at once."""
        self._is_closing = True
        if self._transport is not None:
            self._transport.abort()

    # requests

    def _read(self, data: bytes) -> None:
        """Feed the reader, as long as there is room for what all connections hold."""
        self._reader.feed(data)
        is_large = self._reader.held_bytes > MAX_HELD_BYTES // MAX_CONNECTIONS
        if is_large and sum(each.held_bytes for each in self._connections) > MAX_HELD_BYTES:
            self._reader.give_up(
                refusals.malformed(
                    "The requests of this job are together larger than 96 MiB: send fewer at once.",
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                )
            )
        self._watch()

    def _watch(self) -> None:
        """A request that has begun must come whole in time."""
        if not self._reader.is_midway:
            self._set_timer(None)
        elif self._timer is None:
            loop = asyncio.get_running_loop()
            self._set_timer(loop.call_later(self._request_timeout_s, self._time_out))

    def _proceed(self) -> None:
        """Start the next request that is whole; after the last one, end a faulty connection."""
        reader = self._reader
        while reader.requests and self._may_start():
            self._start(reader.requests.popleft())
        if reader.fault is not None and self._may_start():
            method, path = (reader.head.method, reader.head.path) if reader.head else ("", "")
            self._refuse(reader.fault, method, path, is_last=True)

    def _may_start(self) -> bool:
        """Whether a request may be answered now."""
        return not (self._task or self._is_full or self._is_closing or self._is_gone())

    def _is_gone(self) -> bool:
        """Whether nothing can be written any more."""
        return self._transport is None or self._transport.is_closing()

    def _start(self, request: Request) -> None:
        """Refuse a request, or begin its call."""
        head = request.head
        is_last = not head.is_keep_alive or head.is_http_10 or head.is_upgrade
        if request.refusal is not None:
            self._refuse(request.refusal, head.method, head.path, is_last=is_last)
            return
        if head.method == "CONNECT":
            self._run(self._open_tunnel(head.target))
            return
        try:
            admitted = self._house.desk.admit(head, request.body)
        except OSError as error:
            self._house.fail(error)
            return
        if isinstance(admitted, Refusal):
            self._answer(admitted, head.method, is_last=is_last)
            return
        self._body_bytes = len(request.body)
        self._relay = Relay(self._house, self, head)
        self._run(self._relay.run(admitted, request.body))

    def _run(self, work: Coroutine[None, None, None]) -> None:
        """Begin a call or a tunnel's making; nothing else is read until it is over."""
        self._task = asyncio.get_running_loop().create_task(work)
        self._task.add_done_callback(self._finish)

    async def _open_tunnel(self, target: str) -> None:
        """Join the client with a host, or refuse; the connection is good for nothing else after it."""
        egress, tunnel = self._house.egress, Tunnel(self)
        try:
            host, port = egress.judge(target)
            await tunnel.open(await egress.find(host, port), port)
        except EgressDeniedError as error:
            self._refuse(refusals.no_way_out(str(error)), "CONNECT", target, is_last=True)
        except OSError as error:
            cause = error.strerror or type(error).__name__
            self._refuse(refusals.unreachable(target, cause), "CONNECT", target, is_last=True)
        else:
            self._tunnel = tunnel
            self.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            tunnel.send(self._reader.rest + bytes(self._early))
            self._early.clear()
            tunnel.begin()

    def _finish(self, task: asyncio.Task[None]) -> None:
        """A call is over: go on with what came in the meantime."""
        self._task = self._relay = None
        self._body_bytes = 0
        if not task.cancelled() and (error := task.exception()) is not None:
            self._house.fail(error)
        elif self._tunnel is None and not self._is_closing:
            early, self._early = bytes(self._early), bytearray()
            if early:
                self._read(early)
            self._watch()
            self._proceed()

    def _refuse(self, refusal: Refusal, method: str, path: str, *, is_last: bool) -> None:
        """Answer by ourselves, with a row."""
        try:
            self._house.desk.deny(refusal.reason, method, path)
        except OSError as error:
            self._house.fail(error)
            return
        self._answer(refusal, method, is_last=is_last)

    def _answer(self, refusal: Refusal, method: str, *, is_last: bool) -> None:
        """Write a refusal; closed at once with bytes unread, the client would see a reset instead."""
        self.write(refusal.to_bytes(self._house.wire, is_last=is_last, is_bodiless=method == "HEAD"))
        if is_last and self._transport is not None and not self._is_gone():
            self._is_closing = True
            self._transport.write_eof()
            self._set_timer(asyncio.get_running_loop().call_later(LINGER_S, self._transport.abort))

    def _time_out(self) -> None:
        """A request did not come whole in time."""
        self._timer = None
        if self._task is None:
            self._reader.fault = refusals.malformed(
                f"The request did not arrive within {self._request_timeout_s:g} seconds.",
                HTTPStatus.REQUEST_TIMEOUT,
            )
            self._proceed()

    def _set_timer(self, timer: asyncio.TimerHandle | None) -> None:
        """Have only this timer run."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = timer
