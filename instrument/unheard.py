"""What becomes of a command whose reader has gone, as `head` goes: it ends quietly, or carries on unheard.

Limits: knows the process's own standard streams alone; one that is no file, as in a test, is left as it is.
"""

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

EXIT = 141
"""What a shell shows for a program that SIGPIPE ended: 128 + 13."""
_GONE = (errno.EPIPE, errno.EIO)
"""A pipe without a reader; a terminal that was closed."""


class QuietGroup(click.Group):
    """A group whose commands end without a word, exit code 141, where nobody reads what they print."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:  # noqa: ANN401 - as below
        """Read what was typed, which `--help` ends."""
        with _quiet_end():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's own signature
        """Run the command that was asked for."""
        with _quiet_end():
            return super().invoke(ctx)


@contextmanager
def _quiet_end() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        # What is still in a buffer is written out at the interpreter's end, which must not fail.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        sys.exit(EXIT)


def carry_on_unheard() -> None:
    """From now on what this process prints is dropped where its reader has gone, and nothing fails for it."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        try:
            raw = _Unheard(stream.fileno(), "wb", closefd=False)
        except (AttributeError, io.UnsupportedOperation):
            continue
        buffer = io.BufferedWriter(raw)
        text = io.TextIOWrapper(buffer, encoding=stream.encoding, errors=stream.errors, line_buffering=True)
        setattr(sys, name, text)


class _Unheard(io.FileIO):
    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if error.errno not in _GONE:
                raise
            return memoryview(data).nbytes
