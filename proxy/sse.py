"""Server-sent events out of bytes in any chunking.

Pure: no I/O.
"""

import re

_LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")
MAX_EVENT_BYTES = 16 * 1024 * 1024


class EventReader:
    """Feed it bytes as they arrive; it gives the `data` of each event that is whole."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._data: list[bytes] = []
        self.is_overrun = False
        """An event passed the size limit: nothing after it is read."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of the events completed by this chunk, oldest first; may be empty."""
        if self.is_overrun:
            return []
        # Without this a long event's every piece would search and copy it from its start.
        is_pending = self._rest.endswith(b"\r")
        self._rest += chunk
        # `find`, and not `in`: compiled, that is slow on bytes.
        if not is_pending and chunk.find(b"\n") < 0 and chunk.find(b"\r") < 0:
            self._guard()
            return []
        text = bytes(self._rest)
        # What providers send, in a shorter time.
        *lines, rest = _LINE_END.split(text) if text.find(b"\r") >= 0 else text.split(b"\n")
        self._rest = bytearray(rest)
        self._guard()
        return [event for line in lines if (event := self._take(line)) is not None]

    def _take(self, line: bytes) -> bytes | None:
        """Use one line; an empty one ends an event."""
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            event = b"\n".join(self._data)
            self._data.clear()
            return event
        return None

    def _guard(self) -> None:
        """Stop at an event of absurd size, which would otherwise fill the sidecar's memory."""
        if len(self._rest) + sum(map(len, self._data)) > MAX_EVENT_BYTES:
            self.is_overrun = True
            self._rest.clear()
            self._data.clear()
