"""Which of a repo's tasks go at once, beside the loops outside the engine.

Limits: one look; the claims lie in the home, where every loop reads them.
"""

from dataclasses import dataclass
from pathlib import Path

from engine import messages as m
from engine.place import DRIVER, Place
from jobs.runner import DockerJobs
from loop.holds import behind_hold, hold_of
from loop.request import RunRequest
from loop.running import claim_durable, this_process
from loop.runningfiles import driver_of
from loop.session import find_session
from loop.shell.base import fetch_base
from loop.waiting import Waiting


def grant(place: Place, looking: m.Looking) -> m.Turns:
    """Let go as many as may, in the order that is given; say of the others whom they wait for.

    Looking and claiming are one step under the repo's own lock, so that a loop outside the engine which
    begins at the same moment is either seen or sees.

    Raises:
        Problems, GitError: The repository cannot be read.
    """
    granted: list[str] = []
    lines: dict[str, str] = {}
    views: dict[str, _View] = {}
    for ask in looking.waiting:
        if ask.checkout not in views:
            views[ask.checkout] = _view(place, looking.repo, ask)
        waiting = _look(place, looking.repo, ask, views[ask.checkout])
        if waiting is None:
            granted.append(ask.task_id)
        else:
            lines[ask.task_id] = waiting.line
    return m.Turns(granted=tuple(granted), lines=lines)


@dataclass(frozen=True, slots=True)
class _View:
    """The branch as one look finds it; all tasks of a checkout share it."""

    tip: str
    paths: tuple[str, ...]


def _view(place: Place, repo: str, ask: m.TurnAsk) -> _View:
    request = RunRequest(task=str(Path(ask.checkout, ask.task)), repo=Path(ask.checkout))
    context = find_session(request, jobs=DockerJobs(), environment=place.environment, now=place.now).context
    tip = fetch_base(context, repo)
    return _View(tip, context.store.paths(tip))


def _look(place: Place, repo: str, ask: m.TurnAsk, view: _View) -> Waiting | None:
    if ask.must_pass:
        held = hold_of(place.home, repo)
        behind = behind_hold(place.home, held, task_id=ask.task_id, tip=view.tip, must_pass=ask.must_pass)
        if behind is not None:
            return behind
    mine = this_process(ask.task_id, ask.files, ask.generated, place.now(), driver=DRIVER)
    return claim_durable(place.home, repo, mine, view.paths, count=ask.count)


def claimed(home: Path, repo: str) -> tuple[str, ...]:
    """The tasks that hold a claim of the engine's."""
    files = sorted((home / "running" / repo).glob("[!.]*.json"))
    return tuple(file.stem for file in files if driver_of(file) == DRIVER)
