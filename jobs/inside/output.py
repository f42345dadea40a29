"""Keeps what foreign programs print: masked, and never more than a cap.

Limits: writes files below the job's folder; decides nothing.
"""

from __future__ import annotations

import json
import os
import re
from typing import Iterable, Protocol

MASK = b"***"
# A variable named in `[job] env` may hold `1` or `yes`: masking those would make all output unreadable.
SHORTEST_SECRET = 4


class Sink(Protocol):
    """Takes pieces in order; `close` once, after the last."""

    def write(self, data: bytes) -> None:
        """Take the next piece, of any length."""
        ...

    def close(self) -> None:
        """Bring everything to its file."""
        ...


class Masker:
    """Replaces secrets in a stream of pieces, also one that lies across two of them."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms: set[bytes] = set()
        for secret in secrets:
            # As an agent's JSON lines would carry it, in both ways of writing other alphabets.
            for text in (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
                forms.add(text.encode("utf-8", "surrogatepass"))
        words = sorted((f for f in forms if len(f) >= SHORTEST_SECRET), key=len, reverse=True)
        self._longest = len(words[0]) if words else 0
        self._pattern = re.compile(b"|".join(map(re.escape, words))) if words else None
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """What can be let out; the beginning of a possible secret is held back."""
        if self._pattern is None:
            return data
        buffer = self._held + data
        return self._release(buffer, len(buffer) - self._longest + 1)

    def flush(self) -> bytes:
        """The rest, at the end of the stream."""
        return self._release(self._held, len(self._held))

    def all(self, data: bytes) -> bytes:
        """The whole of a text at once."""
        return self._pattern.sub(MASK, data) if self._pattern else data

    def _release(self, buffer: bytes, safe: int) -> bytes:
        """Mask every match that begins before `safe`: there the longest form has been seen whole."""
        out, done = b"", 0
        safe = max(safe, 0)
        if self._pattern:
            for match in self._pattern.finditer(buffer):
                if match.start() >= safe:
                    break
                out += buffer[done : match.start()] + MASK
                done = match.end()
        end = max(safe, done)
        self._held = buffer[end:]
        return out + buffer[done:end]


class Both:
    """Gives every piece to two sinks, in their order."""

    def __init__(self, first: Sink, second: Sink) -> None:
        self._sinks = (first, second)

    def write(self, data: bytes) -> None:
        """Hand on the next piece."""
        for sink in self._sinks:
            sink.write(data)

    def close(self) -> None:
        """Close both."""
        for sink in self._sinks:
            sink.close()


class Head:
    """Keeps the first `cap_bytes` in a file that grows as it is written; drains the rest."""

    def __init__(self, path: str, cap_bytes: int, masker: Masker) -> None:
        self._file = open(path, "wb", buffering=0)  # noqa: SIM115 - closed in close()
        self._room = cap_bytes
        self._masker = masker
        self.is_truncated = False

    def write(self, data: bytes) -> None:
        """Take the next piece."""
        self._keep(self._masker.feed(data))

    def close(self) -> None:
        """Write what was held back."""
        if not self._file.closed:
            self._keep(self._masker.flush())
            self._file.close()

    def _keep(self, data: bytes) -> None:
        if len(data) > self._room:
            self.is_truncated = True
            data = data[: self._room]
        self._room -= len(data)
        while data:
            data = data[self._file.write(data) or 0 :]


class Tail:
    """Keeps the last `cap_bytes`; its file is written by `close`."""

    def __init__(self, path: str, cap_bytes: int, masker: Masker) -> None:
        self._path = path
        self._cap = cap_bytes
        self._masker = masker
        self._kept = bytearray()
        self._is_closed = False

    def write(self, data: bytes) -> None:
        """Take the next piece; after `close` it is dropped."""
        if not self._is_closed:
            self._keep(self._masker.feed(data))

    def note(self, sentence: str) -> None:
        """Add a line of our own."""
        self._keep(self._masker.flush())
        self._keep(self._masker.all(f"[{sentence}]\n".encode("utf-8", "backslashreplace")))

    def close(self) -> None:
        """Write the file."""
        if self._is_closed:
            return
        self._keep(self._masker.flush())
        self._is_closed = True
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        with open(self._path, "wb") as file:
            file.write(self._kept)
        self._kept.clear()

    def _keep(self, data: bytes) -> None:
        self._kept += data[-self._cap :]
        del self._kept[: -self._cap]
