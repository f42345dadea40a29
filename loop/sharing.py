"""What a run shares with other loops of its home: its paths, its slots, the hold of a red main.

Limits: waits where the person said so, else raises with the line that says for whom.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime

from instrument.schema.state import TaskState
from instrument.schema.vocabulary import Stage, StopReason, WaitedFor
from loop.errors import BusyError
from loop.git.errors import GitError
from loop.holds import Hold, behind_hold, clear_hold, hold_of, place_hold
from loop.running import Claim, claim, this_process
from loop.session import Session
from loop.shell.base import fetch_base
from loop.shell.papers import Papers, read_papers
from loop.together import baseline_checks
from loop.waiting import Waiting, wait_for


@contextmanager
def share(
    session: Session,
    state: TaskState,
    *,
    say: Callable[[str], None],
    sleep: Callable[[float], None],
    wait: bool,
    waited: Callable[[WaitedFor, float], None],
    now: datetime,
) -> Iterator[None]:
    """Hold the task's paths and one of the repo's slots for the block, behind no red main.

    Raises:
        BusyError: Somebody is in the way, and `wait` is off.
    """
    timeout_s = None if wait else 0.0
    with wait_for(
        lambda: _place(session, state, now), say=say, sleep=sleep, timeout_s=timeout_s, waited=waited
    ):
        yield


def _place(session: Session, state: TaskState, now: datetime) -> Claim | Waiting:
    """One look: the hold first, then the paths and the slot."""
    context = session.context
    tip = fetch_base(context, session.repo)
    papers = read_papers(context, state.base or tip, state.task_path, state.task_blob)
    if state.stage is Stage.READY:
        held = behind_hold(
            context.home,
            hold_of(context.home, session.repo),
            task_id=state.task_id,
            tip=tip,
            must_pass=must_pass(papers),
        )
        if held is not None:
            return held
    return claim(
        context.home,
        session.repo,
        this_process(state.task_id, may_touch(papers, state), papers.config.generated, now),
        context.store.paths(tip),
        count=papers.config.repo.tasks,
    )


def may_touch(papers: Papers, state: TaskState) -> tuple[str, ...]:
    """Gitignore patterns of every path that a task may touch, allowed protected ones too."""
    return (*papers.task.files, *papers.task.allow, *state.allowed)


def must_pass(papers: Papers) -> tuple[str, ...]:
    """Names of the checks that a task's baseline has to pass."""
    names = (command.name for command in baseline_checks(papers.task, papers.config))
    return tuple(name for name in names if name not in papers.task.turns_green)


def settle_hold(session: Session, state: TaskState, *, failed: tuple[str, ...], now: datetime) -> None:
    """After a run: a red baseline holds the repo's other tasks, a passed one frees them.

    Raises:
        BusyError: The branch is red for another task already: one alert is enough.
    """
    home = session.context.home
    if state.stop is not None and state.stop.reason is StopReason.BASELINE_RED and state.base is not None:
        mine = Hold(repo=session.repo, base=state.base, failed=failed, task_id=state.task_id, since_utc=now)
        held = place_hold(home, mine)
        waiting = behind_hold(home, held, task_id=state.task_id, tip=state.base, must_pass=failed)
        if waiting is not None:
            raise BusyError(waiting.line)
    elif state.baseline_passed and state.base is not None and hold_of(home, session.repo) is not None:
        with suppress(GitError):
            papers = read_papers(session.context, state.base, state.task_path, state.task_blob)
            clear_hold(
                home,
                session.repo,
                base=state.base,
                passed=must_pass(papers),
                is_ancestor=session.context.store.is_ancestor,
            )
