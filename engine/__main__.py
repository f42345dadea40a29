"""`python -m engine …`: the same guard against planted modules as `python -m loop.run_task`.

Limits: takes the current folder off the import path before anything else is imported.
"""

import os
import sys
from pathlib import Path

from loop.run_task import find_planted, leave_current_folder


def run() -> None:
    """Run the command, or refuse with one sentence and exit code 2."""
    leave_current_folder()
    from engine.cli import main  # noqa: PLC0415 - only now is the path clean

    planted = find_planted((Path.cwd().resolve(),))
    if planted is not None:
        sys.stderr.write(
            f"The module {planted} comes from the current folder, not from the factory's installation; "
            "run this from another folder with --repo.\n"
        )
        sys.exit(2)
    try:
        main(prog_name="python -m engine")
    except SystemExit as end:
        sys.stdout.flush()
        sys.stderr.flush()
        # The SDK's own threads abort an interpreter that takes its time to end (seen with 1.35 on 3.11).
        os._exit(end.code if isinstance(end.code, int) else 1)


run()
