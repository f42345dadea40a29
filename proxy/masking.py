"""Stars out known secrets in the texts of a row: a job or a provider chose them.

Pure: no I/O. Limits: a secret in another encoding than those named here is not known again.
"""

from collections.abc import Iterable
from urllib.parse import quote

MASK = "***"
SHORTEST = 4
"""A local server's key may be `x`: masking it would leave no text readable."""


class Masker:
    """Replaces every known value, and what becomes of it in a path or in a header."""

    def __init__(self, secrets: Iterable[str]) -> None:
        """Those that are shorter than four characters, or empty, are left alone."""
        forms = {form for secret in secrets if len(secret) >= SHORTEST for form in _forms(secret)}
        # The longest first: a secret may be a part of another one.
        self._forms = sorted(forms, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """The text without them."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, MASK)
        return text


def _forms(secret: str) -> tuple[str, ...]:
    """As it is, as a path may write it, and as a header's bytes are read."""
    return secret, quote(secret, safe=""), secret.encode().decode("latin-1")
