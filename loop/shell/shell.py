"""The shell itself: one effect in, facts out.

Limits: errors of ours come back as facts for the machine; a bug still raises.
"""

import shutil

from instrument.schema.job import JobEnd
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import Outcome
from jobs.errors import ImageUnfitError, JobsError
from jobs.order import JobOrder
from loop.git.errors import GitError
from loop.machine.checks import judge_baseline
from loop.machine.effects import (
    Baseline,
    Check,
    CommitCandidate,
    CompareTests,
    Effect,
    FindBase,
    Gate,
    Implement,
    Merge,
    Rebase,
    Review,
    SetUp,
)
from loop.machine.facts import CancelledFacts, EngineFacts, Facts, JobFacts, SetupFacts
from loop.machine.guards import is_clean
from loop.problems import Problems
from loop.shell.base import find_base
from loop.shell.baselines import find_baseline, keep_baseline
from loop.shell.candidates import commit_candidate
from loop.shell.commits import merge_landing, rebase
from loop.shell.context import Context
from loop.shell.orders import agent_order, commands_order, packs_folder, setup_order
from loop.shell.papers import papers_of
from loop.shell.reviews import review_facts
from loop.shell.telling import tell_coder, tell_reviewer

JobEffect = Baseline | Check | CompareTests | Gate | Implement | Review


class Shell:
    """Implements `loop.drive.Perform` on real git and whoever runs jobs."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def perform(self, state: TaskState, effect: Effect, *, resumed: bool) -> Facts:
        """Do the effect, or find what an earlier process did of it."""
        try:
            return self._perform(state, effect, resumed=resumed)
        except (JobsError, GitError, OSError) as error:
            return EngineFacts(key=effect.key, detail=str(error).replace("\n", " "))

    def cancel(self, state: TaskState, effect: Effect, signal: int) -> CancelledFacts:
        """End the job's pod and collect what it cost; a git effect has nothing to end."""
        end: JobEnd | None = None
        if isinstance(effect, JobEffect):
            try:
                end = self._context.jobs.cancel(self._order(state, effect))
            except JobsError:
                end = None
        return CancelledFacts(key=effect.key, end=end, signal=signal)

    def release(self, state: TaskState, key: str) -> None:
        """Take the pod away; an engine that is gone keeps it until the reaper comes by."""
        shutil.rmtree(packs_folder(self._context), ignore_errors=True)
        try:
            self._context.jobs.release(state.run_id, key)
        except JobsError:
            return

    def _perform(self, state: TaskState, effect: Effect, *, resumed: bool) -> Facts:
        context = self._context
        match effect:
            case FindBase():
                return find_base(context, state, effect)
            case SetUp():
                return self._set_up(state, effect)
            case CommitCandidate():
                return commit_candidate(context, state, effect)
            case Rebase():
                return rebase(context, state, effect)
            case Merge():
                return merge_landing(context, state, effect)
            case Review():
                end = context.jobs.run(self._order(state, effect), resumed=resumed)
                return review_facts(context, state, effect, papers_of(context, state, effect.base), end)
            case Baseline():
                return self._baseline(state, effect, resumed=resumed)
            case Check() | CompareTests() | Gate() | Implement():
                return JobFacts(
                    key=effect.key, end=context.jobs.run(self._order(state, effect), resumed=resumed)
                )

    def _baseline(self, state: TaskState, effect: Baseline, *, resumed: bool) -> JobFacts:
        order = self._order(state, effect)
        is_second = bool(state.first_run)
        kept = None if resumed or is_second else find_baseline(self._context, order)
        if kept is not None:
            return JobFacts(key=effect.key, end=kept)
        end = self._context.jobs.run(order, resumed=resumed)
        if not is_second and is_clean(end) and judge_baseline(state, end) is Outcome.BASELINE_PASSED:
            keep_baseline(self._context, order, end)
        return JobFacts(key=effect.key, end=end)

    def _order(self, state: TaskState, effect: JobEffect) -> JobOrder:
        context = self._context
        papers = papers_of(context, state, _base_of(state))
        match effect:
            case Implement():
                return agent_order(context, state, effect, papers, tell_coder(context, state, effect, papers))
            case Review():
                prompt = tell_reviewer(context, state, effect, papers)
                return agent_order(context, state, effect, papers, prompt)
            case _:
                return commands_order(context, state, effect, papers)

    def _set_up(self, state: TaskState, effect: SetUp) -> SetupFacts:
        context = self._context
        folder = state.attempt.folder if state.attempt else None
        try:
            papers = papers_of(context, state, effect.base)
            image = context.jobs.set_up(setup_order(context, state, effect, papers))
        except Problems as problems:
            return SetupFacts(key=effect.key, image=None, detail=str(problems))
        except ImageUnfitError as error:
            detail = f"{error}" + (f"; see {error.evidence}" if error.evidence else "")
            return SetupFacts(key=effect.key, image=None, detail=detail, folder=folder)
        return SetupFacts(key=effect.key, image=image)


def _base_of(state: TaskState) -> str:
    if state.base is None:
        raise ValueError("the task has no base yet")
    return state.base
