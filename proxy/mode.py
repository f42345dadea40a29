"""How a call is served, where that changes its price: tier, speed, place.

Pure: no I/O.
"""

from typing import NamedTuple

_PLAIN = frozenset(("standard", "standard_only", "default", "auto", "global", "not_available"))
"""Words that stand for the plain price (names as in the providers' client libraries, anthropic 2.10.0 and
openai 3.57.0; `not_available` is what models answer that know no place)."""

_NAMES = ("service_tier", "speed", "inference_geo")


class Mode(NamedTuple):
    """As asked for, or as an answer names it; none: not said."""

    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None

    def over(self, asked: "Mode") -> "Mode":
        """What an answer says, and what was asked for where it says nothing."""
        if asked == PLAIN:
            return self
        return Mode(
            self.service_tier or asked.service_tier,
            self.speed or asked.speed,
            self.inference_geo or asked.inference_geo,
        )

    @property
    def plain(self) -> "Mode":
        """The same price in the fewest words."""
        if self == PLAIN:
            return self
        return Mode(*[None if word in _PLAIN else word for word in self])

    def __str__(self) -> str:
        """Such as `service_tier priority`; empty where nothing is said."""
        if self == PLAIN:
            return ""
        named = zip(_NAMES, self, strict=True)
        return ", ".join(f"{name} {word[:50]}" for name, word in named if word is not None)


PLAIN = Mode()
