"""What the engine's own side cannot do.

RunError                        loop/errors.py: one sentence for a person, and the exit code
└── EngineError                 2: the engine is not there, or not as it has to be
    └── ServerUnavailableError  no Temporal server answers, or ours does not start
"""

from loop.errors import Exit, RunError


class EngineError(RunError):
    """Base; the text is what the person reads."""

    exit_code = Exit.USAGE


class ServerUnavailableError(EngineError):
    """No Temporal server answers at the address; no task is touched meanwhile."""
