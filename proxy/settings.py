"""The one line of JSON that a sidecar reads from standard input.

Limits: reads nothing by itself and never shows a value, since some of them are keys.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveFloat, SecretStr, ValidationError, model_validator

from instrument.schema.base import Frozen
from instrument.schema.prices import OwnPrice
from instrument.schema.vocabulary import ProviderName
from proxy.address import Address, parse_address
from proxy.egress import Rule, parse_rule
from proxy.own_prices import read_own_prices
from proxy.protocols.table import WIRES
from proxy.protocols.wire import Wire
from proxy.rates import Price


class SettingsError(Exception):
    """The line cannot be used; the text is one sentence that names fields, never values."""


class ProviderSettings(Frozen):
    """One provider, and who pays it."""

    base_url: str
    """Unused where a story answers."""
    secret: SecretStr
    auth: Literal["api_key", "bearer"]
    """Which header carries the key, where the protocol leaves a choice."""

    def check(self) -> None:
        """Refuse what could not work later, when nobody reads an error any more.

        Raises:
            ValueError: The address or the key is not usable.
        """
        secret = self.secret.get_secret_value()
        if not secret or not (secret.isascii() and secret.isprintable()) or " " in secret:
            raise ValueError("secret must be a key of visible ASCII characters")
        self.address()

    def address(self) -> Address:
        """Where calls go.

        Raises:
            AddressError: `base_url` is no usable HTTP address.
        """
        return parse_address(self.base_url)

    def auth_header(self, wire: Wire) -> tuple[bytes, bytes]:
        """The header that carries the key."""
        secret = self.secret.get_secret_value().encode("ascii")
        return wire.auth_header(secret, is_bearer=self.auth == "bearer")


class Settings(ProviderSettings):
    """What one sidecar is told; by itself it is the first provider."""

    socket: Annotated[str, Field(min_length=1)]
    marker: Annotated[str, Field(min_length=1)]
    """File made at the first model request admitted; the supervisor waits for it."""
    ledger: Annotated[str, Field(min_length=1)]
    protocol: ProviderName = ProviderName.ANTHROPIC
    """What the agent and the provider speak."""
    fallbacks: tuple[ProviderSettings, ...] = ()
    """Asked in this order where the first one cannot answer; of the same protocol and for the same models."""
    masked: tuple[SecretStr, ...] = ()
    """Values of `[job] env`: the ledger holds none of them, as it holds no key."""
    budget_microusd: NonNegativeInt
    deadline_s: PositiveFloat
    """From the sidecar's start, by its own clock; calls are refused after it."""
    story: str | None
    """YAML text of the scripted provider's story; none for a real provider."""
    story_role: str
    story_round: int
    egress: tuple[str, ...] = ()
    """Hosts that tunnels may lead to: `host`, `host:port` or `*.domain`."""
    prices: dict[str, OwnPrice] = Field(default_factory=dict)
    """The person's, by model id."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse what could not work later, when nobody reads an error any more."""
        if any(parse_rule(entry) is None for entry in self.egress):
            raise ValueError("egress must be a list of host, host:port or *.domain, also with =address")
        # Without money no call leaves, so that a set-up's pod needs no key.
        if self.story is None and self.budget_microusd:
            for provider in self.providers:
                provider.check()
        return self

    @property
    def providers(self) -> tuple[ProviderSettings, ...]:
        """All of them, in the order in which they are asked."""
        return (self, *self.fallbacks)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every value that no row may hold; may hold an empty one."""
        values = (*(provider.secret for provider in self.providers), *self.masked)
        return tuple(value.get_secret_value() for value in values)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Where tunnels may lead."""
        return tuple(rule for rule in map(parse_rule, self.egress) if rule is not None)

    @property
    def own_prices(self) -> dict[str, Price]:
        """The person's prices, every bucket filled."""
        return read_own_prices(self.prices, self.protocol)

    @property
    def wire(self) -> Wire:
        """The protocol that is spoken."""
        return WIRES[self.protocol]


def load_settings(line: bytes) -> Settings:
    """Parse and check the line.

    Raises:
        SettingsError: It is no JSON object of this shape.
    """
    try:
        return Settings.model_validate_json(line)
    except ValidationError as error:
        # Only places and messages: pydantic's own text would quote the input, key included.
        places = (
            f"{'.'.join(str(part) for part in item['loc']) or 'line'}: {item['msg']}"
            for item in error.errors(include_input=False, include_url=False, include_context=False)
        )
        raise SettingsError(
            f"The settings line on standard input is not usable: {'; '.join(places)}."
        ) from None
