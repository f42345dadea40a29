"""What the proxy has to know of a provider's protocol.

Pure: no I/O. A protocol is a module that holds these names; `table.py` lists them.
"""

from typing import Literal, Protocol

from instrument.schema.vocabulary import ProviderName
from proxy.ask import Ask
from proxy.meter import Meter

Fault = Literal["request", "path", "stop", "upstream"]
"""Why the proxy answers by itself: the request is wrong, its path is not served, the agent must stop for
good (money, price, time), the provider gave no answer."""


class Wire(Protocol):
    """One protocol; every function may be called at any time, for any call."""

    PROVIDER: ProviderName
    """Whose prices hold."""
    PATHS: tuple[str, ...]
    """What may be sent, by POST alone."""

    def read_ask(self, path: str, body: bytes) -> Ask:
        """Read a request's body.

        Raises:
            BadAskError: No JSON object, or one without a model's name.
        """
        ...

    def open_meter(self, path: str, *, is_stream: bool) -> Meter:
        """A meter for the answer to this path, streamed or whole."""
        ...

    def error_body(self, fault: Fault, message: str) -> bytes:
        """The body of an error of ours, in the provider's shape."""
        ...

    def auth_header(self, secret: bytes, *, is_bearer: bool) -> tuple[bytes, bytes]:
        """The header that carries the key; `is_bearer` asks for `authorization` where there is a choice."""
        ...
