"""What the container starts: `python3 -I /job/inside`.

Limits: runs nothing itself; the folder becomes a package, so that its modules name each other
the same way here, in the tests and for the type checker.
"""

import importlib
import os
import sys


def start() -> int:
    """Load the package of this folder and do the job; returns the exit code."""
    folder = os.path.dirname(os.path.abspath(__file__))
    # The folder itself leaves the path: a module of ours may not stand in for one of the library.
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != folder]
    sys.path.append(os.path.dirname(folder))
    sys.dont_write_bytecode = True
    supervisor = importlib.import_module(os.path.basename(folder) + ".job")
    code = supervisor.main()
    return int(code)


if __name__ == "__main__":
    sys.exit(start())
