"""Keeps from a client the usage that it did not ask for.

Pure: no I/O. Holds an event of the stream back until it is whole; all others pass byte for byte.
"""

import re

import orjson

from proxy.sse import MAX_EVENT_BYTES, EventReader

_EVENT_END = re.compile(rb"(?:\r\n|\n|\r(?!\n|\Z)){2}")
_LONGEST_END = 4


class UsageHider:
    """Takes a Chat Completions stream in any chunking, gives it without the chunk that only holds usage."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._is_overrun = False

    def feed(self, chunk: bytes) -> bytes:
        """What may pass now; may be empty."""
        if self._is_overrun:
            return chunk
        # Without this a long event's every piece would search it from its start.
        start = max(0, len(self._rest) - _LONGEST_END)
        self._rest += chunk
        passed, begun = [], 0
        while found := _EVENT_END.search(self._rest, start):
            event = bytes(self._rest[begun : found.end()])
            if not _holds_only_usage(event):
                passed.append(event)
            begun = start = found.end()
        del self._rest[:begun]
        if len(self._rest) > MAX_EVENT_BYTES:
            self._is_overrun = True
            passed.append(self.finish())
        return b"".join(passed)

    def finish(self) -> bytes:
        """What is still held at the stream's end: an event without its own end."""
        rest, self._rest = bytes(self._rest), bytearray()
        return b"" if _holds_only_usage(rest) else rest


def _holds_only_usage(event: bytes) -> bool:
    """Whether this event, with or without its end, is the chunk that `include_usage` adds."""
    if b'"usage"' not in event:
        return False
    for data in EventReader().feed(event + b"\n\n"):
        try:
            value = orjson.loads(data)
        except orjson.JSONDecodeError:
            return False
        return isinstance(value, dict) and value.get("choices") == [] and bool(value.get("usage"))
    return False
