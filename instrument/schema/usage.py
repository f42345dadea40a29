"""Tokens of model calls in disjoint buckets, and the searches that are charged apart.

Pure: no I/O.
"""

from pydantic import NonNegativeInt

from instrument.schema.base import Frozen


class Usage(Frozen):
    """Tokens by bucket; the five of them never overlap, `reasoning` is a part of `output`.

    The two lives of a cache write are named after Anthropic's: OpenAI's 30 minutes count as `5m`, its 12
    hours as `1h`.
    """

    input_tokens: NonNegativeInt = 0
    cache_read_tokens: NonNegativeInt = 0
    cache_write_5m_tokens: NonNegativeInt = 0
    cache_write_1h_tokens: NonNegativeInt = 0
    output_tokens: NonNegativeInt = 0
    reasoning_tokens: NonNegativeInt = 0
    web_searches: NonNegativeInt = 0
    """Searches that the provider ran; each has its own price, beside the tokens that it brings."""

    def __add__(self, other: "Usage") -> "Usage":
        """Both together, bucket by bucket."""
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields})

    @property
    def total_tokens(self) -> int:
        """All tokens once; reasoning is inside output."""
        return (
            self.input_tokens
            + self.cache_read_tokens
            + self.cache_write_5m_tokens
            + self.cache_write_1h_tokens
            + self.output_tokens
        )
