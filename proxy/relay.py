"""Carries one admitted request: out to a provider, its answer back, its end into the books.

Limits: every way out of `run` books each call exactly once, cancellation included.
"""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol

from proxy import refusals
from proxy.call import Admission, Call
from proxy.decode import open_meter
from proxy.desk import Desk
from proxy.egress import NOWHERE, Egress
from proxy.headers import RequestHead, ResponseHead, request_bytes, response_head_bytes
from proxy.hiding import UsageHider
from proxy.meter import Meter
from proxy.protocols.wire import Wire
from proxy.refusals import Refusal
from proxy.routes import ELSEWHERE, Route, Routes
from proxy.settlement import End
from proxy.upstream import Upstream, UpstreamConnection, UpstreamLostError

_MOST_DIGITS = 6
_REASONS = {int(status): status.phrase.encode() for status in HTTPStatus}
_BODILESS = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)


class Client(Protocol):
    """The side that asked."""

    def write(self, data: bytes) -> None:
        """Send bytes on at once."""
        ...

    def close_after(self) -> None:
        """Close once everything written has left: no further request is taken."""
        ...


@dataclass(frozen=True, slots=True)
class House:
    """What every connection of a sidecar shares."""

    wire: Wire
    desk: Desk
    routes: Routes
    fail: Callable[[BaseException], None]
    """Called where the ledger cannot be written: nothing may go on without its rows."""
    egress: Egress = NOWHERE
    """Where tunnels may lead; by itself nowhere."""


class Relay:
    """One request on its way; `pause` and `resume` may come at any time."""

    def __init__(self, house: House, client: Client, head: RequestHead) -> None:
        self._house = house
        self._client = client
        self._request = head
        self._connection: UpstreamConnection | None = None
        self._is_paused = False
        self._hider: UsageHider | None = None
        self._closes = head.is_http_10 or not head.is_keep_alive

    async def run(self, admission: Admission, body: bytes) -> None:
        """Carry the request to its end, whatever it is."""
        try:
            refusal = await self._house.desk.wait(admission)
            if refusal is not None:
                self._refuse(refusal)
                return
            ahead = self._house.routes.in_turn()
            for route in ahead:
                if await self._try(route, admission, body, has_next=route is not ahead[-1]):
                    return
        finally:
            self._house.desk.release(admission)

    async def _try(self, route: Route, admission: Admission, body: bytes, *, has_next: bool) -> bool:
        """Ask one provider; whether the client has its answer, so that no other is asked."""
        self._begin(route, self._house.desk.start(admission, route.host), has_next=has_next)
        if admission.ask.altered_body is not None:
            self._hider, body = UsageHider(), admission.ask.altered_body
        request = request_bytes(self._request, body, route.upstream.address, route.auth)
        try:
            return await self._ask(request, route)
        finally:
            self._book()

    async def _ask(self, request: bytes, route: Route) -> bool:
        """Send the request; whether the client has its answer."""
        try:
            await self._exchange(request, route.upstream)
        except (OSError, UpstreamLostError) as error:
            self._book()
            if not self._has_left and self._may_go_on():
                return False
            if not self._is_dropped:
                self._lose(str(error) or "the time to connect ran out")
        return not self._is_dropped

    def _begin(self, route: Route, call: Call, *, has_next: bool) -> None:
        """Forget the provider before."""
        self._route = route
        self._call: Call | None = call
        self._has_next = has_next
        self._has_left = False
        self._is_dropped = False
        self._meter: Meter | None = None
        self._hider = None
        self._answer: ResponseHead | None = None
        self._first_byte_s: float | None = None
        self._is_chunked = False

    def _may_go_on(self) -> bool:
        """Whether another provider may be asked instead."""
        return self._has_next and self._house.desk.is_open

    def _refuse(self, refusal: Refusal) -> None:
        """Answer by ourselves."""
        self._client.write(refusal.to_bytes(self._house.wire, is_last=self._closes))
        if self._closes:
            self._client.close_after()

    def _lose(self, cause: str) -> None:
        """The upstream is lost: say so, or leave an answer that has begun without its end."""
        if self._answer is None:
            self._house.routes.avoid(self._route)
            self._refuse(refusals.unreachable(self._route.host, cause))
        else:
            # What has come is still delivered; without its last chunk it cannot pass for whole.
            self._client.close_after()

    async def _exchange(self, request: bytes, upstream: Upstream) -> None:
        """One request; sent again only where a kept connection died before any byte of an answer."""
        connection = await upstream.take()
        try:
            await self._send(connection, request, upstream)
        except UpstreamLostError as error:
            if error.had_answer or not connection.is_reused:
                raise
            self._has_left = False
            await self._send(await upstream.take(fresh=True), request, upstream)

    async def _send(self, connection: UpstreamConnection, request: bytes, upstream: Upstream) -> None:
        """Use one connection for the request, and keep it for later."""
        self._connection, self._has_left = connection, True
        if self._is_paused:
            connection.pause()
        try:
            await connection.exchange(request, self)
        finally:
            self._connection = None
            connection.resume()
            upstream.give_back(connection)

    def receive(self, head: ResponseHead | None, pieces: list[bytes], *, is_last: bool) -> None:
        """Pass on what one read of the upstream brought, metered on the way."""
        out: list[bytes] = []
        if head is not None:
            self._open(head)
        if self._meter is not None:
            for piece in pieces:
                self._meter.feed(piece)
        if self._is_dropped:
            self._drop(is_last=is_last)
            return
        if head is not None:
            out.append(self._open_client(head))
        for piece in pieces if self._hider is None else _shown(self._hider, pieces, is_last=is_last):
            out += (b"%x\r\n" % len(piece), piece, b"\r\n") if self._is_chunked else (piece,)
        if is_last:
            # Booked before the client can see the end: whoever then reads the ledger finds it whole.
            self._book()
            if self._is_chunked:
                out.append(b"0\r\n\r\n")
        self._client.write(b"".join(out))
        if is_last and self._closes:
            self._client.close_after()

    def _open(self, head: ResponseHead) -> None:
        """Begin an answer: the client's, unless another provider may do better."""
        self._answer = head
        self._first_byte_s = self._house.desk.now_s()
        self._meter = open_meter(self._house.wire, self._request.path, head)
        self._is_dropped = head.status in ELSEWHERE and self._may_go_on()

    def _drop(self, *, is_last: bool) -> None:
        """Keep an answer from the client; one that has more to say is not waited for."""
        self._book()
        if not is_last and self._connection is not None:
            self._connection.close()

    def _open_client(self, head: ResponseHead) -> bytes:
        """The head that the client gets; whoever sent it is asked first from now on."""
        self._house.routes.prefer(self._route)
        if self._hider is not None:
            head = self._open_hidden(head)
        is_measured = head.get(b"content-length") is not None or head.status in _BODILESS
        self._is_chunked = not is_measured and not self._request.is_http_10
        return response_head_bytes(
            head, _reason(head.status), is_chunked=self._is_chunked, is_last=self._closes
        )

    def _open_hidden(self, head: ResponseHead) -> ResponseHead:
        """The head of an answer that gets shorter on the way; whatever is no plain stream passes as it is."""
        if not head.is_stream or head.get(b"content-encoding") is not None:
            self._hider = None
            return head
        headers = tuple(pair for pair in head.headers if pair[0] != b"content-length")
        return ResponseHead(head.status, headers)

    def pause(self) -> None:
        """The client is slow: stop reading from the upstream."""
        self._is_paused = True
        if self._connection is not None:
            self._connection.pause()

    def resume(self) -> None:
        """The client is ready again."""
        self._is_paused = False
        if self._connection is not None:
            self._connection.resume()

    def _book(self) -> None:
        """Settle the call, the first time only."""
        call, self._call = self._call, None
        if call is None:
            return
        end = End(
            has_left=self._has_left,
            status=self._answer.status if self._answer else None,
            reading=self._meter.read() if self._meter else None,
        )
        wait = self._answer.get(b"retry-after") if self._answer else None
        try:
            self._house.desk.book(
                call, end, first_byte_s=self._first_byte_s, retry_after_s=read_seconds(wait)
            )
        except OSError as error:
            self._house.fail(error)


def _shown(hider: UsageHider, pieces: list[bytes], *, is_last: bool) -> list[bytes]:
    """What the client is to see of these pieces; none is empty, for an empty chunk would be the end."""
    shown = [hider.feed(piece) for piece in pieces]
    if is_last:
        shown.append(hider.finish())
    return [piece for piece in shown if piece]


def read_seconds(value: bytes | None) -> int | None:
    """A `retry-after` in seconds; none where it is absent, a date or absurd."""
    return int(value) if value is not None and value.isdigit() and len(value) <= _MOST_DIGITS else None


def _reason(status: int) -> bytes:
    """The status line's words; the provider's own are not kept by its parser."""
    return _REASONS.get(status, b"Unknown")
