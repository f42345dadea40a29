"""Writes a file whole, or leaves the one that is there.

Limits: a folder that may be written to, since the fresh file stands beside the old one for a moment.
"""

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import click


def replace_private(path: Path, pieces: Iterable[bytes], *, is_synced: bool) -> None:
    """Replace a file of the run folder whole; several writers at once leave what one of them wrote.

    Args:
        path: Its folder is made where there is none.
        pieces: What it holds from now on.
        is_synced: Whether it has to be on the disk, as what can be made again need not.

    Raises:
        OSError: It cannot be written; the old one stands.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.stem}.", delete=False) as temporary:
        try:
            temporary.writelines(pieces)
            temporary.flush()
            if is_synced:
                os.fsync(temporary.fileno())
            Path(temporary.name).replace(path)
        except OSError:
            Path(temporary.name).unlink(missing_ok=True)
            raise


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
