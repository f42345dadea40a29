"""The lines of a record as events, for whoever reads it without folding it into figures.

Pure: no I/O.
"""

from collections.abc import Iterable, Iterator

from instrument.decoding import DecodeError, Decoder
from instrument.schema.events import EVENTS, AnyEvent

EVENT_LINES: Decoder[AnyEvent] = Decoder(*EVENTS)


def readable(lines: Iterable[bytes]) -> Iterator[AnyEvent]:
    """Those that can be read, in order; see `Decoder` for what they are."""
    for line in lines:
        try:
            yield EVENT_LINES.decode(line)
        except DecodeError:
            continue
