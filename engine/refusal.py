"""What a failed connection means for a person, from what the SDK says of it.

Pure: no I/O. Limits: the SDK's words are those seen with 1.35; others are passed on as they are.
"""

import re

from engine.errors import EngineError, ServerUnavailableError

_CAUSE = re.compile(r'(?:message|error): "([^"]+)"')
"""The words for a person within the SDK's."""
_NOT_LET_IN = ("code: Unauthenticated", "code: PermissionDenied")
_OURS = {
    "KeyMismatch": "--tls-key is not the key of --tls-cert",
    "PrivateKeyParseError": "--tls-key holds no key that can be read",
    "InvalidCertificate": "its certificate does not hold against --tls-ca",
}
_CUT = ("tls handshake eof", "transport error", "operation was canceled", "CertificateRequired")
"""How it looks where the other side has hung up in or right after the handshake."""


def refusal(host_port: str, said: str, *, has_tls: bool, has_certificate: bool) -> EngineError:
    """What to raise for it: `ServerUnavailableError` where the server may be there a little later."""
    found = _CAUSE.search(said)
    cause = found[1] if found else said
    if any(code in said for code in _NOT_LET_IN):
        return EngineError(f"The server at {host_port} does not let us in: {cause}. See --api-key-env.")
    for word, meaning in _OURS.items():
        if word in said:
            return EngineError(f"No connection to {host_port}: {meaning} ({_last_word(said)}).")
    hint = ""
    if any(word in said for word in _CUT):
        hint = f" {_hint(has_tls=has_tls, has_certificate=has_certificate)}"
    return ServerUnavailableError(f"No Temporal server answers at {host_port}: {cause}.{hint}")


def _last_word(said: str) -> str:
    """The innermost of what its nested errors are called."""
    return said.rstrip("()}. ").rpartition("(")[2]


def _hint(*, has_tls: bool, has_certificate: bool) -> str:
    if has_certificate:
        return "It hung up; it may not know who signed --tls-cert."
    if has_tls:
        return "It hung up; it may ask for a certificate of yours: --tls-cert and --tls-key."
    return "It hung up; it may speak TLS alone: --tls-ca, or TEMPORAL_TLS=true."
