"""Recorded answers: a provider's own bytes, to be played again one by one.

Pure: no I/O. Limits: of a request only its method and its path are kept; of an answer's headers none that
speaks of the connection or of an account. A key that an answer repeats is masked.
"""

from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated, Self

from pydantic import Field, NonNegativeInt, model_validator

from instrument.schema.base import Frozen

_CONNECTION = frozenset(
    ("connection", "keep-alive", "proxy-connection", "trailer", "transfer-encoding", "upgrade", "date")
)
_ACCOUNT = ("cookie", "organization", "project", "account")
"""Parts of the names of headers that say whose key it was."""


class Piece(Frozen):
    """What one read brought of a body."""

    text: str | None = None
    base64: str | None = None
    """Where the bytes are no text by themselves."""
    after_ms: NonNegativeInt = 0
    """Pause before it."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse a piece of no meaning, or of two."""
        if (self.text is None) == (self.base64 is None):
            raise ValueError("a piece needs either text or base64")
        b64decode(self.base64 or "", validate=True)
        return self

    @property
    def data(self) -> bytes:
        """Its bytes."""
        return b64decode(self.base64 or "") if self.text is None else self.text.encode()


class RecordedAnswer(Frozen):
    """One answer."""

    method: str = "POST"
    path: str
    """Of the request, without its query string."""
    status: Annotated[int, Field(ge=200, le=599)]
    headers: tuple[tuple[str, str], ...] = ()
    pieces: tuple[Piece, ...] = ()
    is_cut: bool = False
    """The connection ended before the answer did."""


@dataclass(frozen=True, slots=True)
class Read:
    """What one read brought, before it is written down."""

    data: bytes
    after_ms: int = 0


def mask(data: bytes, secrets: Collection[bytes]) -> bytes:
    """The same number of bytes, with a star for each byte of a secret."""
    for secret in secrets:
        data = data.replace(secret, b"*" * len(secret))
    return data


def to_pieces(reads: Sequence[Read], secrets: Collection[bytes]) -> tuple[Piece, ...]:
    """A body in the pieces that it came in; a secret is found across their edges too."""
    whole = mask(b"".join(read.data for read in reads), secrets)
    ends = list(accumulate(len(read.data) for read in reads))
    starts = [0, *ends]
    return tuple(
        _to_piece(whole[start:end], read.after_ms)
        for start, end, read in zip(starts, ends, reads, strict=False)
        if end > start
    )


def _to_piece(data: bytes, after_ms: int) -> Piece:
    """One piece, readable where it can be."""
    try:
        return Piece(text=data.decode(), after_ms=after_ms)
    except UnicodeDecodeError:
        return Piece(base64=b64encode(data).decode(), after_ms=after_ms)


def to_headers(headers: Iterable[tuple[str, str]], secrets: Collection[bytes]) -> tuple[tuple[str, str], ...]:
    """An answer's headers that may be kept, in their order; names in lower case."""
    return tuple(
        (name.lower(), mask(value.encode("latin-1"), secrets).decode("latin-1"))
        for name, value in headers
        if name.lower() not in _CONNECTION and not any(part in name.lower() for part in _ACCOUNT)
    )
