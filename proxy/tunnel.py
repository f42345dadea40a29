"""One CONNECT tunnel: bytes between a job and a host, both ways, never looked into.

Limits: the host was judged before (`proxy.egress`); it connects to addresses, never to names.
"""

import asyncio
from collections.abc import Iterable
from typing import Protocol, cast

CONNECT_TIMEOUT_S = 20.0


class Near(Protocol):
    """The job's side."""

    def write(self, data: bytes) -> None:
        """Send bytes to the job."""
        ...

    def close_after(self) -> None:
        """Close once everything written has left."""
        ...

    def pause_reading(self) -> None:
        """Take nothing more from the job for now."""
        ...

    def resume_reading(self) -> None:
        """Take bytes from the job again."""
        ...


class Tunnel(asyncio.Protocol):
    """The host's side. Order of calls: `open`, `begin`, then the others in any order."""

    def __init__(self, near: Near) -> None:
        self._near = near
        self._transport: asyncio.Transport | None = None
        self._held: list[bytes] | None = []
        """What a host that speaks first has said; none once the job has its answer."""
        self._is_over = False

    async def open(self, addresses: Iterable[str], port: int, timeout_s: float = CONNECT_TIMEOUT_S) -> None:
        """Connect to the first address that answers.

        Raises:
            OSError: None did in time.
        """
        loop = asyncio.get_running_loop()
        last: OSError = OSError("there is no address")
        for address in addresses:
            try:
                await asyncio.wait_for(loop.create_connection(lambda: self, address, port), timeout_s)
            except OSError as error:
                last = error
            else:
                return
        raise last

    def begin(self) -> None:
        """The job has its answer: pass on what the host said in the meantime, and all that follows."""
        held, self._held = self._held or [], None
        self._near.write(b"".join(held))
        if self._is_over:
            self._near.close_after()
        self.resume()

    def send(self, data: bytes) -> None:
        """Pass on what the job said."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def end(self) -> None:
        """The job has said its last; the host may still speak."""
        if (
            self._transport is not None
            and self._transport.can_write_eof()
            and not self._transport.is_closing()
        ):
            self._transport.write_eof()

    def pause(self) -> None:
        """The job reads slowly."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume(self) -> None:
        """The job reads again."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def cut(self) -> None:
        """Drop the host at once."""
        if self._transport is not None:
            self._transport.abort()

    # asyncio's callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The host is there."""
        # Not asserted: a faster loop's transports are of no class of asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Pass on what the host said, or hold it and take no more for now."""
        if self._held is None:
            self._near.write(data)
            return
        self._held.append(data)
        self.pause()

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """The host has said its last: what came is still delivered."""
        self._is_over = True
        if self._held is None:
            self._near.close_after()

    def pause_writing(self) -> None:
        """The host reads slowly."""
        self._near.pause_reading()

    def resume_writing(self) -> None:
        """The host reads again."""
        self._near.resume_reading()
