"""The tables below `[provider]` of `factory.toml` as models: who answers, who pays, at which prices.

Pure: no I/O.
"""

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field, model_validator

from instrument.schema.base import Frozen
from instrument.schema.prices import OwnPrice
from instrument.schema.vocabulary import ProviderName
from loop.config_words import Model, Url, Variable

KEY_VARIABLES = {"api_key": "ANTHROPIC_API_KEY", "bearer": "ANTHROPIC_AUTH_TOKEN"}
"""Anthropic's, by how the key is shown."""
OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"


class AnthropicWay(Frozen):
    """`[[provider.anthropic.fallback]]`: where calls of the Messages API go, and who pays them."""

    base_url: Url = "https://api.anthropic.com"
    """The provider, a gateway or a local model server."""
    auth: Literal["api_key", "bearer"] = "api_key"
    """How the key is shown; `bearer`: a subscription's token, a gateway's."""
    key_env: Variable | None = None
    """The host's variable that holds the key; none: `ANTHROPIC_API_KEY`, as bearer `ANTHROPIC_AUTH_TOKEN`."""

    @property
    def key_variable(self) -> str:
        """The host's variable that holds the key."""
        return self.key_env or KEY_VARIABLES[self.auth]


class AnthropicTable(AnthropicWay):
    """`[provider.anthropic]`: who answers calls of the Messages API, and who answers in that one's place."""

    fallback: tuple[AnthropicWay, ...] = ()
    """Asked in order where the one before gives no answer."""
    prices: dict[Model, OwnPrice] = Field(default_factory=dict)
    """By model id; they go before the price data."""

    @model_validator(mode="after")
    def _ways_differ(self) -> Self:
        refuse_twins((self, *self.fallback))
        return self


class OpenaiWay(Frozen):
    """`[[provider.openai.fallback]]`: where calls of the Responses and Chat Completions APIs go."""

    base_url: Url = "https://api.openai.com"
    """The provider, a gateway or a local model server."""
    key_env: Variable | None = None
    """The host's variable that holds the key; none: `OPENAI_API_KEY`."""

    @property
    def auth(self) -> str:
        """It knows no other way."""
        return "bearer"

    @property
    def key_variable(self) -> str:
        """The host's variable that holds the key."""
        return self.key_env or OPENAI_KEY_VARIABLE


class OpenaiTable(OpenaiWay):
    """`[provider.openai]`: the same for the Responses and Chat Completions APIs."""

    fallback: tuple[OpenaiWay, ...] = ()
    """Asked in order where the one before gives no answer."""
    prices: dict[Model, OwnPrice] = Field(default_factory=dict)
    """By model id; they go before the price data."""

    @model_validator(mode="after")
    def _ways_differ(self) -> Self:
        refuse_twins((self, *self.fallback))
        return self


def refuse_twins(ways: Sequence[AnthropicWay | OpenaiWay]) -> None:
    """Two ways to one address with one key are one.

    Raises:
        ValueError: There are such.
    """
    if len({(way.base_url, way.key_variable) for way in ways}) < len(ways):
        raise ValueError("has one base_url with one key twice in its fallbacks; take one out")


class ProviderTable(Frozen):
    """`[provider]`: who answers model calls; which one follows from the runtime and the model."""

    anthropic: AnthropicTable = AnthropicTable()
    openai: OpenaiTable = OpenaiTable()

    def of(self, name: ProviderName) -> AnthropicTable | OpenaiTable:
        """One provider's table."""
        return self.openai if name is ProviderName.OPENAI else self.anthropic

    @property
    def key_variables(self) -> frozenset[str]:
        """The host's variables that may hold a key."""
        tables = [self.of(name) for name in ProviderName]
        configured = (way.key_variable for table in tables for way in (table, *table.fallback))
        return frozenset((*configured, *KEY_VARIABLES.values(), OPENAI_KEY_VARIABLE))
