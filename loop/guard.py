"""The outermost frame of a command: every failure becomes one sentence and its exit code.

Limits: knows the errors of `loop` and `jobs`; a bug's trace goes into a file, since a terminal is no place
for it.
"""

import os
import sys
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn, TypeVar

import click

from instrument.found import find_home
from jobs.errors import JobsError
from loop.errors import Exit, RunError
from loop.git.errors import GitError
from loop.home import make_private
from loop.problems import Problems
from loop.signals import Interrupted

T = TypeVar("T")


def guarded(go: Callable[[], T]) -> T:
    """Turn every expected failure into one sentence (or several problems) and its exit code."""
    try:
        return go()
    except RunError as error:
        fail(str(error), error.exit_code)
    except (Problems, GitError, JobsError) as error:
        fail(str(error), Exit.USAGE)
    except Interrupted as interrupted:
        sys.exit(interrupted.exit_code)
    except BrokenPipeError:
        # Whoever read our words has enough of them, as `head` has: see `QuietGroup`.
        raise
    except OSError as error:
        fail(f"A file cannot be read or written: {error}. Mend that and run the same command.", Exit.USAGE)
    except Exception:  # noqa: BLE001 - the outermost frame: a person gets one sentence, we get the trace
        fail(f"A bug of ours; please report {_keep_trace()}. Run the same command to continue.", Exit.BUG)


def fail(text: str, code: int) -> NoReturn:
    """Say it on stderr and leave."""
    click.echo(text, err=True)
    sys.exit(code)


def _keep_trace() -> Path:
    folder = make_private(find_home(os.environ))
    path = folder / f"bug-{datetime.now(UTC):%Y%m%dT%H%M%S}.txt"
    path.touch(mode=0o600)
    path.write_text(traceback.format_exc(), encoding="utf-8", errors="replace")
    return path
