"""What our own meter reads of an answer of OpenAI's, told whole and as a stream."""

from collections.abc import Iterable

from proxy.buckets import Buckets
from proxy.meter import Reading
from proxy.protocols.openai import open_meter
from proxy.scripted.story import StoryUsage

TOLD = StoryUsage(input=1, output=90, cache_read=2, cache_write_5m=3, cache_write_1h=4, reasoning=5)
BY_HAND = Buckets(
    input_tokens=1,
    cache_read_tokens=2,
    cache_write_5m_tokens=3,
    cache_write_1h_tokens=4,
    output_tokens=90,
    reasoning_tokens=5,
)
"""The same in our buckets."""


def readings(path: str, whole: bytes, events: Iterable[bytes]) -> tuple[Reading, Reading]:
    """Of the whole body, and of the stream."""
    body, stream = (open_meter(path, is_stream=is_stream) for is_stream in (False, True))
    body.feed(whole)
    for event in events:
        stream.feed(event)
    return body.read(), stream.read()
