"""How a call is served, where that changes its price: tier, speed, place.

Pure: no I/O.
"""

from dataclasses import dataclass

_PLAIN = frozenset(("standard", "standard_only", "default", "auto", "global", "not_available"))
"""Words that stand for the plain price (names as in the providers' client libraries, anthropic 2.10.0 and
openai 3.57.0; `not_available` is what models answer that know no place)."""

_NAMES = ("service_tier", "speed", "inference_geo")


@dataclass(frozen=True, slots=True)
class Mode:
    """As asked for, or as an answer names it; none: not said."""

    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None

    def over(self, asked: "Mode") -> "Mode":
        """What an answer says, and what was asked for where it says nothing."""
        return Mode(
            self.service_tier or asked.service_tier,
            self.speed or asked.speed,
            self.inference_geo or asked.inference_geo,
        )

    @property
    def plain(self) -> "Mode":
        """The same price in the fewest words."""
        return Mode(*(None if word in _PLAIN else word for word in self._words))

    @property
    def _words(self) -> tuple[str | None, str | None, str | None]:
        return self.service_tier, self.speed, self.inference_geo

    def __str__(self) -> str:
        """Such as `service_tier priority`; empty where nothing is said."""
        named = zip(_NAMES, self._words, strict=True)
        return ", ".join(f"{name} {word[:50]}" for name, word in named if word is not None)


PLAIN = Mode()
