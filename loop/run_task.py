"""`python -m loop.run_task TASK …`: the same program as `factory run TASK …`.

Limits: `-m` puts the current folder first on the import path, so that a planted
`orjson.py` of the repository under work would run here; this file takes it off again
before anything is imported, and refuses where a module of ours came from there.
"""

import sys
from pathlib import Path

OURS = Path(__file__).resolve().parent.parent


def leave_current_folder() -> None:
    """Take the current folder off the import path; in a checkout of this project it is ours and stays.

    A folder `loop` there without an `__init__.py` has joined our package by now: it goes too.
    """
    current = Path.cwd().resolve()
    if current != OURS:
        sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != current]
        sys.modules["loop"].__path__ = [str(OURS / "loop")]


def find_planted(folders: tuple[Path, ...]) -> str | None:
    """A loaded module whose file lies in one of the folders; none where all is well.

    The interpreter's own environment may lie in the repository (`.venv`): it is what the
    person chose to run.
    """
    environments = {Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()}
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not file:
            continue
        path = Path(file).resolve()
        if any(path.is_relative_to(each) for each in (OURS, *environments)):
            continue
        if any(path.is_relative_to(folder) for folder in folders):
            return name
    return None


def refuse_planted(instead: str) -> None:
    """Leave with one sentence and exit code 2 where a module came from the current folder.

    Args:
        instead: What the person types instead, as the sentence ends.
    """
    planted = find_planted((Path.cwd().resolve(),))
    if planted is not None:
        sys.stderr.write(
            f"The module {planted} comes from the current folder, not from the factory's installation; "
            f"{instead}\n"
        )
        sys.exit(2)


def main() -> None:
    """Run the command, or refuse with one sentence and exit code 2."""
    leave_current_folder()
    from loop.cli import run  # noqa: PLC0415 - only now is the path clean

    refuse_planted("run `factory run` from another folder with --repo.")
    run(prog_name="python -m loop.run_task")


if __name__ == "__main__":
    main()
