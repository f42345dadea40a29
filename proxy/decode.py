"""A meter behind a compressed answer, and the choice of a meter for an answer.

Pure: no I/O. The client gets the bytes as they came; only the meter's copy is unpacked.
"""

import zlib

from proxy.headers import ResponseHead
from proxy.meter import Meter, Reading
from proxy.protocols.wire import Wire

_PIECE_BYTES = 1024 * 1024
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32


class UnpackingMeter:
    """Unpacks gzip or deflate for the meter behind it; after damage it feeds no more."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._unpacker = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._is_damaged = False

    def feed(self, chunk: bytes) -> None:
        """Take the next packed bytes."""
        while chunk and not self._is_damaged:
            try:
                piece = self._unpacker.decompress(chunk, _PIECE_BYTES)
            except zlib.error:
                self._is_damaged = True
                return
            self._meter.feed(piece)
            chunk = self._unpacker.unconsumed_tail

    def read(self) -> Reading:
        """What is known after the bytes so far."""
        return self._meter.read()


def open_meter(wire: Wire, path: str, head: ResponseHead) -> Meter:
    """The meter that fits an answer to this path; one that cannot be unpacked will have no usage."""
    meter = wire.open_meter(path, is_stream=head.is_stream)
    encoding = (head.get(b"content-encoding") or b"identity").strip().lower()
    return UnpackingMeter(meter) if encoding in (b"gzip", b"x-gzip", b"deflate") else meter
