"""Where calls go: a base URL taken apart.

Pure: no I/O.
"""

from dataclasses import dataclass, field
from urllib.parse import urlsplit


class AddressError(ValueError):
    """A base URL that cannot be called; the text is one sentence."""


@dataclass(frozen=True, slots=True)
class Address:
    """An HTTP/1.1 origin with the path that stands before `/v1/…`."""

    host: str
    port: int
    is_tls: bool
    prefix: bytes
    """Path before the API's own, without a trailing slash; may be empty."""

    host_header: bytes = field(init=False, repr=False, compare=False)
    """The Host header's value: the port is left out where it is the scheme's own."""

    def __post_init__(self) -> None:
        """Make the header's value now, since every request needs it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        is_default = self.port == (443 if self.is_tls else 80)
        value = (host if is_default else f"{host}:{self.port}").encode("ascii")
        object.__setattr__(self, "host_header", value)


def parse_address(url: str) -> Address:
    """Read a base URL; with or without a trailing slash and with or without `/v1` is the same.

    Raises:
        AddressError: No `http://` or `https://` address, or one with a user, a query or a fragment.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise AddressError("base_url is not a URL: give one such as https://api.anthropic.com") from None
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https") or not host or not url.isascii() or not url.isprintable():
        raise AddressError(
            "base_url must be an http:// or https:// address such as https://api.anthropic.com"
        )
    try:
        host.encode("idna")
    except UnicodeError:
        raise AddressError("base_url has a host name that no network knows: check its labels") from None
    if parts.username is not None or parts.query or parts.fragment or " " in url:
        raise AddressError("base_url must hold no user, query or fragment: the key is given apart")
    is_tls = parts.scheme == "https"
    prefix = parts.path.rstrip("/").removesuffix("/v1").rstrip("/")
    return Address(host, port or (443 if is_tls else 80), is_tls, prefix.encode("ascii"))
