"""Tokens out of one answer, streamed or whole: what is common to all protocols.

Pure: no I/O. Fed with a copy of the bytes in any chunking; never sees the client.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Final, NamedTuple, Protocol

import orjson

from proxy.ask import BYTES_PER_TOKEN
from proxy.buckets import Buckets
from proxy.mode import PLAIN, Mode
from proxy.sse import EventReader

MAX_BODY_BYTES = 64 * 1024 * 1024


class Extra(NamedTuple):
    """Work inside a call that the answer's own counts leave out, and that is charged beside them."""

    model: str | None
    """Who did it; none: the model that answered."""
    usage: Buckets | None
    """None: it was seen, and is not reported; it read no more than the call did."""


class Reading:
    """What an answer said about itself so far."""

    def __init__(
        self,
        model: str | None,
        usage: Buckets,
        *,
        has_usage: bool,
        is_whole: bool,
        error_type: str | None,
        mode: Mode = PLAIN,
        extras: tuple[Extra, ...] = (),
        has_gap: bool = False,
    ) -> None:
        self.model: Final = model
        self.usage: Final = usage
        """As last reported; `output_tokens` is raised to an estimate where the answer is not whole."""
        self.has_usage: Final = has_usage
        """Whether input was reported at all."""
        self.is_whole: Final = is_whole
        """Whether the answer came to its own end and its figures agree with each other."""
        self.error_type: Final = error_type
        self.mode: Final = mode
        """How it was served."""
        self.extras: Final = extras
        """May be empty."""
        self.has_gap: Final = has_gap
        """Whether it shows a charge that it gives no figure for."""


class Meter(Protocol):
    """Order of calls: `feed` for each piece, then `read`, which may be called at any time."""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        ...

    def read(self) -> Reading:
        """What is known after the bytes so far."""
        ...


class Figures(ABC):
    """A provider's usage fields: for each of them the last present value wins."""

    input: int | None = None
    is_odd: bool = False
    """A figure was no count."""
    lacks_figure: bool = False
    """A charge was shown without a figure for it."""

    @abstractmethod
    def take(self, usage: object) -> None:
        """Use one `usage` object; absent and null fields leave what is known."""

    @property
    def has_usage(self) -> bool:
        """Whether input was reported."""
        return self.input is not None

    @property
    @abstractmethod
    def is_wrong(self) -> bool:
        """Whether a figure was no count, or figures do not agree with each other."""

    @abstractmethod
    def usage(self) -> Buckets:
        """The disjoint buckets."""

    @property
    def mode(self) -> Mode:
        """How the call was served, as last reported."""
        return PLAIN

    @property
    def extras(self) -> tuple[Extra, ...]:
        """What is charged beside the buckets, as last reported."""
        return ()

    @property
    def has_gap(self) -> bool:
        """Whether a charge was shown without a figure for it."""
        return self.lacks_figure

    def count(self, values: dict[str, Any], name: str, known: int | None) -> int | None:
        """A field's new value, or the known one."""
        value = values.get(name)
        if type(value) is int and value >= 0:
            return value
        self.is_odd = self.is_odd or value is not None
        return known


class Tally(ABC):
    """What an answer has said so far; a protocol's own class reads its events and its bodies."""

    end_mark: ClassVar[bytes | None] = None
    """The data of a stream's last event, where that is no JSON."""

    def __init__(self, figures: Figures) -> None:
        self.figures = figures
        self.model: str | None = None
        self.error_type: str | None = None
        self.written_bytes = 0
        """Of what the model wrote, as far as it was shown."""
        self.has_stopped = False
        """Whether the answer said that it is at its end."""

    @abstractmethod
    def take(self, event: dict[str, Any]) -> None:
        """Use one event of a stream."""

    @abstractmethod
    def take_body(self, value: dict[str, Any]) -> None:
        """Use a whole answer or an error."""

    def read(self, *, is_odd: bool) -> Reading:
        """What is known now; an answer without its end is estimated upwards.

        Args:
            is_odd: Something in the answer could not be read.
        """
        figures = self.figures
        usage, has_usage = figures.usage(), figures.has_usage
        is_odd = is_odd or figures.is_odd
        is_whole = self.has_stopped and self.error_type is None and has_usage
        if not is_whole or is_odd:
            guess = math.ceil(self.written_bytes / BYTES_PER_TOKEN)
            usage = usage.with_output(max(usage.output_tokens, guess))
        return Reading(
            self.model,
            usage,
            has_usage=has_usage,
            is_whole=is_whole and not is_odd and not figures.is_wrong,
            error_type=self.error_type,
            mode=figures.mode,
            extras=figures.extras,
            has_gap=figures.has_gap,
        )


class StreamMeter:
    """Meters a stream of server-sent events."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._events = EventReader()
        self._is_odd = False

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        for data in self._events.feed(chunk):
            try:
                event: Any = orjson.loads(data)
            except orjson.JSONDecodeError:
                if data == self._tally.end_mark:
                    self._tally.has_stopped = True
                else:
                    self._is_odd = True
                continue
            if isinstance(event, dict):
                self._tally.take(event)

    def read(self) -> Reading:
        """What is known after the bytes so far."""
        return self._tally.read(is_odd=self._is_odd or self._events.is_overrun)


class BodyMeter:
    """Meters an answer that is one JSON object: a model's answer, or an error."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._body = bytearray()
        self._is_overrun = False

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        if len(self._body) + len(chunk) > MAX_BODY_BYTES:
            self._is_overrun = True
        else:
            self._body += chunk

    def read(self) -> Reading:
        """What the object says; half an object says nothing."""
        try:
            value: Any = None if self._is_overrun else orjson.loads(self._body)
        except orjson.JSONDecodeError:
            value = None
        if isinstance(value, dict):
            self._tally.has_stopped = True
            self._tally.take_body(value)
        return self._tally.read(is_odd=False)


def shown_text(value: object) -> str | None:
    """A text, shortened to what a ledger row should hold; none where it is none."""
    return value[:200] if isinstance(value, str) and value else None


def meter_over(tally: Tally, *, is_stream: bool) -> Meter:
    """The meter that feeds this tally."""
    return StreamMeter(tally) if is_stream else BodyMeter(tally)
