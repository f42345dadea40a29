"""Writes a file whole, or leaves the one that is there.

Limits: a folder that may be written to, since the fresh file stands beside the old one for a moment.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import click


def replace_file(out: Path, pieces: Iterable[str]) -> None:
    """Replace the file whole: others read it at any moment.

    Raises:
        click.UsageError: It cannot be written; one sentence.
    """
    fresh = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        fresh.write_text("".join(pieces), encoding="utf-8")
        fresh.replace(out)
    except OSError as error:
        raise click.UsageError(f"{out} cannot be written ({error.strerror}); name another file") from None
    finally:
        # Where it could not be made there is nothing to take away.
        with suppress(OSError):
            fresh.unlink()
