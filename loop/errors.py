"""What ends a run before the machine has a say.

RunError            one sentence for a person, and the exit code
├── UsageError      2: the command, the task file or the configuration
└── BusyError       4: another loop holds the task, or it waits for a dependency
"""

from enum import IntEnum, unique


@unique
class Exit(IntEnum):
    """The exit codes of `factory`."""

    DONE = 0
    BUG = 1
    USAGE = 2
    STOPPED = 3
    BUSY = 4


class RunError(Exception):
    """Base; the text is what the person reads."""

    exit_code = Exit.BUG


class UsageError(RunError):
    """The person has to change what they typed or wrote."""

    exit_code = Exit.USAGE


class BusyError(RunError):
    """The person has to wait."""

    exit_code = Exit.BUSY
