"""Finds the price of a model id: a person's own, or one of the price data, by exact id or alias.

Limits: reads `aliases.toml` beside this file once; never the network.
"""

import re
import time
import tomllib
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib import resources
from importlib.metadata import version
from types import MappingProxyType
from typing import Any

from instrument.schema.vocabulary import ProviderName
from proxy.mode import PLAIN, Mode
from proxy.price_data import WRITE_FACTORS, NoRateError, load_models, read_price
from proxy.rates import Price

PRICE_PACKAGE = f"genai-prices {version('genai-prices')}"
_DATE = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2})\Z")
_TIERS = frozenset(("flex", "priority", "fast", "ultrafast", "scale", "batch"))
"""Words for a price of its own at Anthropic or OpenAI; any other is a word of some other server."""
NO_OWN: Mapping[str, Price] = MappingProxyType({})


class UnknownPriceError(Exception):
    """A model that neither the price data nor the person's own prices know; the text is for a person.

    UnknownPriceError
      UnknownModeError
    """

    def __init__(self, model: str, said: str | None = None) -> None:
        self.model = model
        super().__init__(
            said
            or f"No price is known for the model {model[:100]!r}: name it as the price data does, "
            "set its price under [provider] in factory.toml, "
            "or add an alias for it to proxy/aliases.toml."
        )


class UnknownModeError(UnknownPriceError):
    """A known model that is served in a way without a known price."""

    def __init__(self, model: str, mode: Mode) -> None:
        super().__init__(
            model, f"No price is known for the model {model[:100]!r} with {mode}: leave that out."
        )


def find_price(
    model: str,
    provider: str = ProviderName.ANTHROPIC,
    at_utc: datetime | None = None,
    *,
    mode: Mode = PLAIN,
    own: Mapping[str, Price] = NO_OWN,
) -> Price:
    """The price of a model id: equal to an id of the person's, of the data or an alias of ours.

    A date behind the id is left aside.

    The library's own match is by prefix and would price `claude-sonnet-4-5-mini` as its big sister.

    Args:
        model: The id as asked for, or as an answer names it.
        provider: Whose model it is: a name of ours, which is the id in the data too.
        at_utc: Selects among dated prices; none: now.
        mode: How it is served.
        own: The person's prices for this provider, by id; they go before the data, and hold wherever
            a call is served.

    Raises:
        UnknownPriceError: No such id.
        UnknownModeError: The id is known, a price for this mode is not.
    """
    for name in (model, _DATE.sub("", model)) if own else ():
        if name in own:
            plain = mode.plain
            if plain.service_tier in _TIERS or plain.speed:
                raise UnknownModeError(model, plain)
            return own[name]
    # A minute is as fine as prices change, and coarse enough to be asked for again.
    at_s = time.time() if at_utc is None else at_utc.timestamp()
    return _find_in_data(model, provider, int(at_s // 60), mode)


@lru_cache(maxsize=64)
def _find_in_data(model: str, provider: str, at_min: int, mode: Mode) -> Price:
    """As `find_price`, without a person's own; kept, since every call asks twice.

    The time is in minutes since 1970.
    """
    plain = mode.plain
    entry = _find_entry(model, provider)
    if entry is None:
        raise UnknownPriceError(model)
    try:
        return read_price(entry, provider, datetime.fromtimestamp(at_min * 60, UTC), plain)
    except NoRateError:
        raise (UnknownPriceError(model) if plain == PLAIN else UnknownModeError(model, plain)) from None


def price_package(own: Collection[str]) -> str:
    """What calls are priced with, as the ledger names it."""
    return f"{PRICE_PACKAGE}, {len(own)} of factory.toml on top" if own else PRICE_PACKAGE


def provider_of_model(model: str) -> ProviderName:
    """The provider that has this model; Anthropic where none has it."""
    known = (provider for provider in ProviderName if _find_entry(model, provider) is not None)
    return next(known, ProviderName.ANTHROPIC)


def is_same_model(asked: str, answered: str) -> bool:
    """Whether two ids name one model: equal, an alias of ours, one of them with a date behind it."""
    if asked == answered:
        return True
    if _DATE.search(asked) and _DATE.search(answered):
        return False
    pair = (_DATE.sub("", asked), _DATE.sub("", answered))
    return pair[0] == pair[1] or any(
        aliases.get(name) == other
        for aliases in load_aliases().values()
        for name, other in (pair, pair[::-1])
    )


def _find_entry(model: str, provider: str) -> Any:  # noqa: ANN401 - the library's own shape
    """The library's entry of a model; none where there is no such id."""
    known, aliases = load_models()[provider], load_aliases()[provider]
    names = (aliases.get(name, name) for name in (model, _DATE.sub("", model)))
    return next((known[name] for name in names if name in known), None)


def load_prices() -> None:
    """Read the data now, so that the first call need not wait for it; may be called twice."""
    load_aliases()
    load_models()


@cache
def load_aliases() -> dict[str, dict[str, str]]:
    """Our aliases by provider: id the provider names, to id in the price data."""
    table = tomllib.loads(resources.files("proxy").joinpath("aliases.toml").read_text("utf-8"))
    return {
        provider: {str(name): str(target) for name, target in table[provider].items()}
        for provider in WRITE_FACTORS
    }
