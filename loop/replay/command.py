"""`factory replay`: carry a repository's own commits as a run carries a coder's work, and compare the trees.

The fast way does everything in one container, in up to four work trees at once. By a job's and the loop's
own code it exercises: laying a tree where the attributes change, the walk, the list of changes, the capture
with all its refusals, the diff and its proof, the apply into a repository that has nothing of the commit,
the commit. It does not exercise, and `--jobs` does: a fresh tree for each commit (a tree is moved from one
to the next), the order and the report as files, an agent that is started and ended, the collection of a job.
In neither does the capture have to make a blob: the coder takes the contents from its own repository, whose
pack is the capture's too. Neither calls a model, runs a set-up or a check, or judges scope, secrets or tests.

Limits: writes below `<home>/replay`; the repository is read, never written.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import click

from instrument.schema.base import Frozen
from loop.errors import Exit, UsageError
from loop.git.checkout import Checkout, default_branch, find_checkout
from loop.guard import guarded
from loop.options import repo_option
from loop.replay.carry import carry, place_name
from loop.replay.history import History, read_history
from loop.replay.place import Place, open_place
from loop.replay.record import Fate, Line, Record
from loop.replay.show import bar, show_line, summary
from loop.run import World

LAST = 100


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person typed."""

    repo: Path
    last: int | None
    range: str | None
    is_jobs: bool
    is_restart: bool
    is_json: bool


class Summary(Frozen):
    """`--json`: the one object, last on stdout."""

    schema_version: Literal[1] = 1
    commits: int
    travelled: int
    stopped: int
    skipped: int
    mismatches: int
    reasons: dict[str, int]
    seconds: float
    """Of this call; a rerun carries only the rest."""
    carried: int
    """In this call."""
    others: tuple[Line, ...]
    """Every commit that did not travel, oldest first."""


def replay(asked: Asked, world: World, out: Callable[[str], None]) -> int:
    """Carry every commit of the range that no earlier call carried.

    Returns:
        0, or 1 where a commit came out as another tree: a bug of ours.

    Raises:
        UsageError, GitError, Problems: Exit 2; nothing was carried.
        JobsError: The engine failed; a rerun goes on.
        BusyError: Another process replays the same range.
    """
    checkout = find_checkout(asked.repo)
    branch = default_branch(checkout, None)
    history = read_history(checkout, chosen(asked, branch))
    name = f"{place_name(checkout)}-{history.name}{'-jobs' if asked.is_jobs else ''}"
    with open_place(
        world.environment, name, restart=asked.is_restart, reap=lambda run: world.jobs.reap(run, keep=None)
    ) as place:
        record = Record(place.folder)
        began, before = time.monotonic(), len(record.lines)
        if before:
            world.progress.note(f"{before} of {len(history.steps)} commits are done; --restart begins anew")
        for line in _carry(asked, world, checkout, branch, history, place, record):
            if not asked.is_json and line.fate is not Fate.TRAVELLED:
                out(show_line(line))
        lines = [record.lines[step.commit] for step in history.steps]
        _tell(asked, lines, time.monotonic() - began, len(lines) - before, out)
        place.clear()
    return Exit.BUG if any(line.fate is Fate.MISMATCH for line in lines) else Exit.DONE


def chosen(asked: Asked, branch: str) -> tuple[str, ...]:
    """The range as arguments of `git rev-list`.

    Raises:
        UsageError: A range that git would take as an option.
    """
    if asked.range is None:
        return f"--max-count={asked.last or LAST}", f"refs/heads/{branch}"
    if asked.range.startswith("-"):
        raise UsageError(f"--range {asked.range!r} is no range; write it as A..B.")
    return (asked.range,)


def _carry(
    asked: Asked,
    world: World,
    checkout: Checkout,
    branch: str,
    history: History,
    place: Place,
    record: Record,
) -> Iterator[Line]:
    """Carry what is left, keep each line, and give it."""
    left = [step for step in history.steps if step.commit not in record.lines]
    with bar(sys.stderr, len(history.steps), len(record.lines)) as step_done:
        for line in carry(
            world, checkout, branch, replace(history, steps=tuple(left)), place, is_jobs=asked.is_jobs
        ):
            record.add(line)
            step_done()
            yield line


def _tell(asked: Asked, lines: list[Line], seconds: float, carried: int, out: Callable[[str], None]) -> None:
    if not asked.is_json:
        out(summary(lines, seconds, carried))
        return
    fates = Counter(line.fate for line in lines)
    end = Summary(
        commits=len(lines),
        travelled=fates[Fate.TRAVELLED],
        stopped=fates[Fate.STOPPED],
        skipped=fates[Fate.SKIPPED],
        mismatches=fates[Fate.MISMATCH],
        reasons=dict(sorted(Counter(line.reason for line in lines if line.reason).items())),
        seconds=round(seconds, 3),
        carried=carried,
        others=tuple(line for line in lines if line.fate is not Fate.TRAVELLED),
    )
    out(end.model_dump_json(exclude_none=True))


def replay_command(world: Callable[[], World]) -> click.Command:
    """The click command, ready for `main.add_command`.

    Args:
        world: Makes the real surroundings, once.
    """

    @click.command("replay")
    @repo_option
    @click.option(
        "--last", type=click.IntRange(min=1), help=f"The last N commits of the default branch; else {LAST}."
    )
    @click.option("--range", "commits", metavar="A..B", help="Another range, as `git log` takes it.")
    @click.option("--jobs", "is_jobs", is_flag=True, help="Each commit as a whole coder job; slow.")
    @click.option("--restart", "is_restart", is_flag=True, help="Begin anew instead of going on.")
    @click.option("--json", "is_json", is_flag=True, help="Print one object last on stdout.")
    def command(
        *, repo: Path, last: int | None, commits: str | None, is_jobs: bool, is_restart: bool, is_json: bool
    ) -> None:
        """Carry the repository's own commits as a run carries a coder's work; calls no model.

        Each commit is written on its first parent in a container, captured, proven, applied and committed;
        the tree has to come out the same. Run the same command again to go on. Exit codes: 0 each
        commit travelled or was stopped by name, 1 a tree came out differently, 2 usage.
        """
        if last is not None and commits is not None:
            raise click.UsageError("give --last or --range, not both")
        asked = Asked(repo.resolve(), last, commits, is_jobs, is_restart, is_json)
        sys.exit(guarded(lambda: replay(asked, world(), click.echo)))

    return command
