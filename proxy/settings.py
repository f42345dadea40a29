"""The one line of JSON that a sidecar reads from standard input.

Limits: reads nothing by itself and never shows a value, since one of them is the key.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveFloat, SecretStr, ValidationError, model_validator

from instrument.schema.base import Frozen
from proxy.address import Address, parse_address


class SettingsError(Exception):
    """The line cannot be used; the text is one sentence that names fields, never values."""


class Settings(Frozen):
    """What one sidecar is told."""

    socket: Annotated[str, Field(min_length=1)]
    marker: Annotated[str, Field(min_length=1)]
    """File made at the first model request admitted; the supervisor waits for it."""
    ledger: Annotated[str, Field(min_length=1)]
    base_url: str
    """Unused where a story answers."""
    secret: SecretStr
    auth: Literal["api_key", "bearer"]
    budget_microusd: NonNegativeInt
    deadline_s: PositiveFloat
    """From the sidecar's start, by its own clock; calls are refused after it."""
    story: str | None
    """YAML text of the scripted provider's story; none for a real provider."""
    story_role: str
    story_round: int

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse what could not work later, when nobody reads an error any more."""
        if self.story is None:
            secret = self.secret.get_secret_value()
            if not secret or not (secret.isascii() and secret.isprintable()) or " " in secret:
                raise ValueError("secret must be a key of visible ASCII characters")
            self.upstream()
        return self

    def upstream(self) -> Address:
        """Where calls go.

        Raises:
            AddressError: `base_url` is no usable HTTP address.
        """
        return parse_address(self.base_url)

    def auth_header(self) -> tuple[bytes, bytes]:
        """The header that carries the key."""
        secret = self.secret.get_secret_value().encode("ascii")
        if self.auth == "bearer":
            return b"authorization", b"Bearer " + secret
        return b"x-api-key", secret


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
