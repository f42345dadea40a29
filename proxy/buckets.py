"""Tokens of one call in disjoint buckets, as the data path has them.

Pure: no I/O. Field for field they are `instrument.schema.usage.Usage`, which says what each bucket holds;
every call makes several of them, so they are values without a check, made in a tenth of that model's time.
"""

from typing import Final


class Buckets:
    """Never changed; the five buckets of tokens never overlap, `reasoning_tokens` is a part of the output."""

    def __init__(
        self,
        input_tokens: int = 0,
        cache_read_tokens: int = 0,
        cache_write_5m_tokens: int = 0,
        cache_write_1h_tokens: int = 0,
        output_tokens: int = 0,
        reasoning_tokens: int = 0,
        web_searches: int = 0,
    ) -> None:
        self.input_tokens: Final = input_tokens
        self.cache_read_tokens: Final = cache_read_tokens
        self.cache_write_5m_tokens: Final = cache_write_5m_tokens
        self.cache_write_1h_tokens: Final = cache_write_1h_tokens
        self.output_tokens: Final = output_tokens
        self.reasoning_tokens: Final = reasoning_tokens
        self.web_searches: Final = web_searches

    def row(self) -> dict[str, int]:
        """As a row of the ledger holds them."""
        return {
            "input_tokens": self.input_tokens,
            "cache_read_tokens": self.cache_read_tokens,
            "cache_write_5m_tokens": self.cache_write_5m_tokens,
            "cache_write_1h_tokens": self.cache_write_1h_tokens,
            "output_tokens": self.output_tokens,
            "reasoning_tokens": self.reasoning_tokens,
            "web_searches": self.web_searches,
        }

    def __add__(self, other: "Buckets") -> "Buckets":
        """Both together, bucket by bucket."""
        return Buckets(
            *(mine + its for mine, its in zip(self.row().values(), other.row().values(), strict=True))
        )

    def with_output(self, output_tokens: int) -> "Buckets":
        """The same with another output."""
        return Buckets(**{**self.row(), "output_tokens": output_tokens})

    @property
    def input_total_tokens(self) -> int:
        """All input, caches included."""
        return (
            self.input_tokens
            + self.cache_read_tokens
            + self.cache_write_5m_tokens
            + self.cache_write_1h_tokens
        )

    @property
    def total_tokens(self) -> int:
        """All tokens once; reasoning is inside output."""
        return self.input_total_tokens + self.output_tokens

    def __eq__(self, other: object) -> bool:
        """Whether both hold the same."""
        return isinstance(other, Buckets) and self.row() == other.row()

    def __hash__(self) -> int:
        """As `__eq__` compares."""
        return hash(tuple(self.row().values()))

    def __repr__(self) -> str:
        """What is not empty."""
        return f"Buckets({', '.join(f'{name}={n}' for name, n in self.row().items() if n)})"
