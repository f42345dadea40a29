"""The one base class of every model that is read from disk or from a socket.

Pure: no I/O.
"""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Immutable, closed and strict: `true` is no number and an unknown key is an error.

    Load these from JSON bytes (`model_validate_json`): in strict mode only JSON
    input turns a string into an enum, a list into a tuple, a text into a time.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)
