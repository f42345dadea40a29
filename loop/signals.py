"""SIGINT and SIGTERM, let through only while an effect is being done.

Limits: one instance a process, in its main thread.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

EXIT_BASE = 128
"""A process ended by signal N exits with 128 + N, as shells report it."""


class Interrupted(BaseException):
    """A signal asked this process to end; like KeyboardInterrupt it is no error."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signal = signum

    @property
    def exit_code(self) -> int:
        """130 after SIGINT, 143 after SIGTERM."""
        return EXIT_BASE + self.signal


class Signals:
    """Holds a signal back while a state is being written, and delivers it at the next effect."""

    def __init__(self) -> None:
        self._pending: int | None = None
        self._is_open = True

    def install(self) -> None:
        """Take both signals over for the rest of the process."""
        signal.signal(signal.SIGINT, self._handle)
        signal.signal(signal.SIGTERM, self._handle)

    def check(self) -> None:
        """End here if a signal came.

        Raises:
            Interrupted: One did.
        """
        if self._pending is not None:
            raise Interrupted(self._pending)

    def hold(self) -> None:
        """From now on let signals through in `interruptible` blocks only."""
        self._is_open = False

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """A block that a signal may end.

        Raises:
            Interrupted: A signal came, now or since the last such block.
        """
        self._is_open = True
        try:
            if self._pending is not None:
                raise Interrupted(self._pending)
            yield
        finally:
            self._is_open = False

    def _handle(self, signum: int, _: FrameType | None) -> None:
        self._pending = signum
        if self._is_open:
            self._is_open = False
            raise Interrupted(signum)
