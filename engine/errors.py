"""What the engine's own side cannot do.

RunError                        loop/errors.py: one sentence for a person, and the exit code
└── EngineError                 2: the engine is not there, or not as it has to be
    └── ServerUnavailableError  no Temporal server answers, or ours does not start
"""

from collections.abc import Awaitable
from typing import TypeVar

from temporalio.service import RPCError, RPCStatusCode

from loop.errors import Exit, RunError

T = TypeVar("T")


class EngineError(RunError):
    """Base; the text is what the person reads."""

    exit_code = Exit.USAGE


class ServerUnavailableError(EngineError):
    """No Temporal server answers at the address; no task is touched meanwhile."""


async def or_none(asked: Awaitable[T]) -> T | None:
    """What the server answers; none where it does not know what is asked for.

    Raises:
        RPCError: It answers something else.
    """
    try:
        return await asked
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return None
        raise
