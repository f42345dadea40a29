"""How a call is served, where that changes its price: tier, speed, place.

Pure: no I/O.
"""

from typing import Final

_PLAIN: Final = frozenset(("standard", "standard_only", "default", "auto", "global", "not_available"))
"""Words that stand for the plain price (names as in the providers' client libraries, anthropic 2.10.0 and
openai 3.57.0; `not_available` is what models answer that know no place)."""

_NAMES = ("service_tier", "speed", "inference_geo")


class Mode:
    """As asked for, or as an answer names it; none: not said. Never changed."""

    def __init__(
        self, service_tier: str | None = None, speed: str | None = None, inference_geo: str | None = None
    ) -> None:
        self.service_tier: Final = service_tier
        self.speed: Final = speed
        self.inference_geo: Final = inference_geo

    def over(self, asked: "Mode") -> "Mode":
        """What an answer says, and what was asked for where it says nothing."""
        if asked is PLAIN:
            return self
        return Mode(
            self.service_tier or asked.service_tier,
            self.speed or asked.speed,
            self.inference_geo or asked.inference_geo,
        )

    @property
    def plain(self) -> "Mode":
        """The same price in the fewest words."""
        tier = None if self.service_tier in _PLAIN else self.service_tier
        speed = None if self.speed in _PLAIN else self.speed
        place = None if self.inference_geo in _PLAIN else self.inference_geo
        return PLAIN if tier is None and speed is None and place is None else Mode(tier, speed, place)

    def _words(self) -> tuple[str | None, str | None, str | None]:
        return self.service_tier, self.speed, self.inference_geo

    def __eq__(self, other: object) -> bool:
        """Whether both say the same."""
        return self is other or (isinstance(other, Mode) and self._words() == other._words())

    def __hash__(self) -> int:
        """As `__eq__` compares."""
        return hash(self._words())

    def __str__(self) -> str:
        """Such as `service_tier priority`; empty where nothing is said."""
        if self is PLAIN:
            return ""
        named = zip(_NAMES, self._words(), strict=True)
        return ", ".join(f"{name} {word[:50]}" for name, word in named if word is not None)


PLAIN = Mode()
