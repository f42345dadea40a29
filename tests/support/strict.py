"""A provider that trusts nobody: it keeps every byte it gets, and reads requests by its own narrow rules."""

import asyncio
import re
from dataclasses import dataclass

from support.proxykit import Provider, message_stream, stream_answer

_LINE = re.compile(rb"POST (/v1/messages(?:/count_tokens)?(?:\?[!-~]*)?) HTTP/1\.1")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9a-z-]+): ([\t -~\x80-\xff]*)")


class StrictError(Exception):
    """What came is no request that may reach a provider."""


@dataclass(frozen=True)
class Got:
    """One whole request."""

    target: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    def all(self, name: bytes) -> list[bytes]:
        return [value for key, value in self.headers if key == name]


def take_request(raw: bytes) -> tuple[Got, bytes] | None:
    """The first request with what follows it; none before it is whole.

    Raises:
        StrictError: It can never become a request of exactly one meaning.
    """
    head, end, rest = raw.partition(b"\r\n\r\n")
    if not end:
        return None
    first, *lines = head.split(b"\r\n")
    line, pairs = _LINE.fullmatch(first), [_HEADER.fullmatch(each) for each in lines]
    if line is None or None in pairs:
        raise StrictError(head)
    got = Got(line[1], tuple((pair[1], pair[2]) for pair in pairs if pair is not None), b"")
    lengths = got.all(b"content-length")
    if len(lengths) != 1 or not lengths[0].isdigit() or got.all(b"transfer-encoding"):
        raise StrictError(head)
    if got.all(b"x-api-key") != [b"real-key"] or len(got.all(b"host")) != 1:
        raise StrictError(head)
    length = int(lengths[0])
    return (Got(*(got.target, got.headers), rest[:length]), rest[length:]) if len(rest) >= length else None


class StrictProvider(Provider):
    """Answers each whole request with a stream; `wrong` says what was none."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[Got] = []
        self.wrong: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        raw = b""
        try:
            while piece := await reader.read(1 << 16):
                raw += piece
                while (taken := take_request(raw)) is not None:
                    got, raw = taken
                    self.requests.append(got)
                    writer.write(stream_answer(message_stream()))
            if raw:
                self.wrong.append(raw)
        except StrictError as error:
            self.wrong.append(error.args[0])
        except ConnectionError:
            pass
        finally:
            writer.close()
