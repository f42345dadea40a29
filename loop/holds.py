"""The hold that a red main puts on a repo: one alert, and every other task waits behind it.

Limits: one file a repo, `<home>/holds/<repo>.json`; a damaged one is set aside and holds nothing.
"""

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, ValidationError

from instrument.schema.base import Frozen
from instrument.schema.vocabulary import WaitedFor
from loop.atomic import write_atomic
from loop.git.errors import GitError
from loop.home import make_private
from loop.leases import hold_briefly
from loop.waiting import LOOK_AGAIN_S, Waiting

TIMEOUT_S = 30
SHOWN_DIGITS = 12


class Hold(Frozen):
    """Who found the branch red, where, and by which checks."""

    schema_version: Literal[1] = 1
    repo: str
    base: str
    """The commit whose baseline failed."""
    failed: tuple[str, ...]
    """Names of the checks that failed there; empty where it is not known which."""
    task_id: str
    """The task that stopped with `baseline_red`: its stop is the one alert."""
    since_utc: AwareDatetime


def place_hold(home: Path, hold: Hold) -> Hold:
    """Record a red baseline, and return the hold in force.

    It is the given one, or an earlier one of the same base by another task: then this task waits
    behind that one, and its own stop would be a second alert. One of another base is replaced: the
    caller began on the branch's tip.

    Raises:
        BusyError: The lock was not free for half a minute.
    """
    with _lock(home, hold.repo):
        found = _read(home, hold.repo)
        if found is not None and found.base == hold.base and found.task_id != hold.task_id:
            return found
        write_atomic(_file(home, hold.repo), hold.model_dump_json().encode())
        return hold


def hold_of(home: Path, repo: str) -> Hold | None:
    """The repo's hold; none: there is none, or its file was damaged and is set aside now.

    Raises:
        BusyError: The lock was not free for half a minute.
    """
    with _lock(home, repo):
        return _read(home, repo)


def clear_hold(
    home: Path, repo: str, *, base: str, passed: Collection[str], is_ancestor: Callable[[str, str], bool]
) -> bool:
    """Take the hold away if a passed baseline proves that the branch is not red any more.

    It does on the hold's own base (what failed was not the commit's fault) or on a later one, and
    only if the very checks that had failed were run and passed.

    Args:
        home: The home that all loops share.
        repo: `[repo] name`.
        base: The commit whose baseline passed.
        passed: Names of the checks that passed there; one of `turns_green` has not.
        is_ancestor: Whether the first commit is, or comes before, the second; a `GitError` (the first
            was forced away and forgotten) says nothing, and the hold stays.

    Returns:
        Whether a hold was taken away.
    """
    with _lock(home, repo):
        hold = _read(home, repo)
        if hold is None or not set(hold.failed) <= set(passed):
            return False
        if hold.base != base and not _is_later(is_ancestor, hold.base, base):
            return False
        _file(home, repo).unlink(missing_ok=True)
        return True


def _is_later(is_ancestor: Callable[[str, str], bool], first: str, second: str) -> bool:
    try:
        return is_ancestor(first, second)
    except GitError:
        return False


def behind_hold(
    home: Path, hold: Hold | None, *, task_id: str, tip: str, must_pass: Collection[str]
) -> Waiting | None:
    """Whether a task waits behind the hold: its own checks would fail at the same place.

    The task that found it never does: its rerun looks again. Nor does a task that runs none of the
    failed checks, or that is there to turn them green: somebody must be able to repair main.

    Args:
        home: Where the hold's file is, for the sentence.
        hold: From `hold_of`.
        task_id: The task that would begin.
        tip: The branch's commit now; another one than the hold's is worth a look of its own.
        must_pass: Names of the checks that its baseline runs, less those of `turns_green`.
    """
    if hold is None or hold.task_id == task_id or hold.base != tip:
        return None
    if hold.failed and not set(hold.failed) & set(must_pass):
        return None
    checks = ", ".join(hold.failed) or "a check"
    line = (
        f"{task_id} waits for a green main: {checks} failed on {tip[:SHOWN_DIGITS]}, see {hold.task_id}; "
        f"it goes on once main moves or {hold.task_id} passes there "
        f"(to look again at once, remove {_file(home, hold.repo)})"
    )
    return Waiting(line, WaitedFor.MAIN, LOOK_AGAIN_S)


def _read(home: Path, repo: str) -> Hold | None:
    file = _file(home, repo)
    try:
        return Hold.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError:
        file.replace(file.with_name(f"{file.name}.damaged"))
        return None


def _file(home: Path, repo: str) -> Path:
    return home / "holds" / f"{repo}.json"


def _lock(home: Path, repo: str) -> AbstractContextManager[None]:
    folder = make_private(home / "holds")
    return hold_briefly(folder / f"{repo}.lock", TIMEOUT_S, f"other loops look at the hold on {repo}")
