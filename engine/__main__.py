"""`python -m engine …`: the same guard against planted modules as `python -m loop.run_task`.

Limits: takes the current folder off the import path before anything else is imported.
"""

import os
import sys

from loop.run_task import leave_current_folder, refuse_planted


def run() -> None:
    """Run the command, or refuse with one sentence and exit code 2."""
    leave_current_folder()
    from engine.cli import main  # noqa: PLC0415 - only now is the path clean

    refuse_planted("run this from another folder with --repo.")
    try:
        main(prog_name="python -m engine")
    except SystemExit as end:
        sys.stdout.flush()
        sys.stderr.flush()
        # The SDK's own threads abort an interpreter that takes its time to end (seen with 1.35 on 3.11).
        os._exit(end.code if isinstance(end.code, int) else 1)


run()
